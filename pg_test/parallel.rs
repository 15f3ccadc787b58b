//! Runs `simhash_agg` in parallel workers, and checks that they were launched: a plan does not show whether any was
//! free.

mod tests {
    use pgrx::Json;
    use pgrx::prelude::*;
    use serde_json::Value;

    /// The sum of all numbers with this name in a plan.
    fn total(plan: &Value, key: &str) -> i64 {
        match plan {
            Value::Array(nodes) => nodes.iter().map(|node| total(node, key)).sum(),
            Value::Object(node) => {
                let own = node.get(key).and_then(Value::as_i64).unwrap_or(0);
                own + node.values().map(|value| total(value, key)).sum::<i64>()
            }
            _ => 0,
        }
    }

    #[pg_extern(sql = false)]
    fn parallel_workers() -> spi::Result<()> {
        Spi::run(
            "CREATE TABLE terms AS SELECT n % 37 AS document, 'term' || n % 1009 AS term, n % 17 / 10.0::float8 AS weight
             FROM generate_series(1, 20000) n",
        )?;
        Spi::run("SET max_parallel_workers_per_gather = 0")?;
        Spi::run("CREATE TABLE serial AS SELECT document, simhash_agg(term, weight) FROM terms GROUP BY document")?;
        for setting in [
            "max_parallel_workers_per_gather = 2",
            "parallel_setup_cost = 0",
            "parallel_tuple_cost = 0",
            "min_parallel_table_scan_size = 0",
            "parallel_leader_participation = off",
        ] {
            Spi::run(&format!("SET {setting}"))?;
        }
        let plan = Spi::get_one::<Json>(
            "EXPLAIN (ANALYZE, FORMAT JSON)
             CREATE TABLE parallel AS SELECT document, simhash_agg(term, weight) FROM terms GROUP BY document",
        )?;
        let Json(plan) = plan.expect("EXPLAIN gives a plan");
        assert!(total(&plan, "Workers Launched") >= 1, "{plan}");
        let compared = Spi::get_two::<i64, bool>(
            "SELECT count(*), bool_and(serial.simhash_agg = parallel.simhash_agg) FROM serial JOIN parallel USING (document)",
        )?;
        assert_eq!(compared, (Some(37), Some(true)));
        Ok(())
    }
}
