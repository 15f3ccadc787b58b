//! Random sequences of INSERT, UPDATE and whole-row saves under a guard that marks rows, compared with a model.

mod tests {
    use pgrx::prelude::*;
    use simhash::fingerprint::options::Options;
    use simhash::fingerprint::resemblance::resemblance;
    use simhash::fingerprint::{Fingerprinter, Scratch, Summary};
    use simhash::random::Random;

    // The defaults of a guard's criterion.
    const BANDS: usize = simhash::fingerprint::bands::DEFAULT_BANDS;
    const MIN_RESEMBLANCE: f64 = simhash::fingerprint::resemblance::DEFAULT_RESEMBLANCE;
    const MAX_DISTANCE: u32 = 20;

    #[derive(Clone, Debug)]
    struct ModelRow {
        id: i32,
        text: String,
        summary: Summary,
        mark: Option<i32>,
    }

    fn run(statement: &str) {
        if let Err(error) = Spi::run(statement) {
            error!("{error}: {statement}");
        }
    }

    /// A text of one of a few groups, with up to three words replaced. Some texts are stored compressed or out of line.
    fn random_text(random: &mut Random) -> String {
        let group = random.below(4);
        let (count, times) = [(60, 1), (60, 20), (700, 1), (20, 1)][group as usize];
        let mut words: Vec<_> = (0..count).map(|n| format!("{:x}", Random(group << 32 | n).next())).collect();
        for _ in 0..random.below(4) {
            words[random.below(count) as usize] = format!("{:x}", random.below(8));
        }
        vec![words.join(" "); times].join(" ")
    }

    fn are_near(a: &ModelRow, b: &ModelRow) -> bool {
        let resembles = || {
            resemblance(&mut Fingerprinter::new(&mut Scratch::default(), &Options::default(), &|| ()), &a.text, &b.text)
                .expect("memory suffices")
                .is_some_and(|resemblance| resemblance >= MIN_RESEMBLANCE)
        };
        let distance = (a.summary.fingerprint ^ b.summary.fingerprint).count_ones();
        a.summary.shares_band(&b.summary, BANDS) && distance <= MAX_DISTANCE && resembles()
    }

    /// The allowed marks of a row: any of the unmarked rows near it. None if there is none.
    fn allowed_marks(rows: &[ModelRow], new: &ModelRow) -> Vec<Option<i32>> {
        let near = rows.iter().filter(|row| row.id != new.id && row.mark.is_none() && are_near(row, new));
        let near: Vec<_> = near.map(|row| Some(row.id)).collect();
        if near.is_empty() { vec![None] } else { near }
    }

    fn mark_sql(mark: Option<i32>) -> String {
        mark.map_or("NULL".to_owned(), |mark| mark.to_string())
    }

    /// A random mark, as a statement may have it.
    fn random_mark(random: &mut Random, rows: &[ModelRow]) -> Option<i32> {
        if rows.is_empty() || random.below(2) == 0 { None } else { Some(random.one_of(rows).id) }
    }

    /// Runs random statements. If `sets_marks_by_hand`, some of them set marks or delete rows. If not, at any time no
    /// two unmarked rows are near each other, and each mark names an unmarked row.
    fn random_statements(seed: u64, sets_marks_by_hand: bool) {
        run("DROP TABLE IF EXISTS marked;
            CREATE TABLE marked (id integer PRIMARY KEY, title integer, body text, near integer)");
        for band in 0..BANDS {
            run(&format!("CREATE INDEX ON marked (simhash_band(body, {band}), simhash_size(body), simhash(body))"));
        }
        run("SELECT simhash_guard('marked', 'mark', mark_column => 'near')");
        let (mut random, mut scratch) = (Random(seed), Scratch::default());
        let (mut rows, mut last_id) = (Vec::<ModelRow>::new(), 0);
        for title in 0..400 {
            let index = random.below(rows.len().max(1) as u64) as usize;
            let text = random_text(&mut random);
            let summary = Fingerprinter::new(&mut scratch, &Options::default(), &|| ())
                .summary(&text, BANDS)
                .expect("memory suffices");
            let summary = summary.expect("the text has words");
            let mark = random_mark(&mut random, &rows);
            let action = if rows.len() < 3 { 0 } else { random.below(if sets_marks_by_hand { 9 } else { 6 }) };
            let (statement, row, allowed) = match action {
                0 | 1 if rows.len() < 40 => {
                    last_id += 1;
                    let statement =
                        format!("INSERT INTO marked VALUES ({last_id}, {title}, '{text}', {})", mark_sql(mark));
                    let row = ModelRow { id: last_id, text, summary, mark };
                    let allowed = allowed_marks(&rows, &row);
                    (statement, row, allowed)
                }
                // An UPDATE of the text, which may be the same.
                0..=3 => {
                    let old = rows[index].clone();
                    let row = ModelRow { text, summary, ..old.clone() };
                    let mut set = format!("body = '{}'", row.text);
                    if random.below(2) == 0 {
                        set += &format!(", near = {}", mark_sql(mark));
                    }
                    let allowed = if row.text == old.text { vec![old.mark] } else { allowed_marks(&rows, &row) };
                    (format!("UPDATE marked SET {set} WHERE id = {}", row.id), row, allowed)
                }
                // An application saves a whole row, with the same text. BEFORE INSERT, the guard ignores the row with
                // this key, but may mark the new row because of others. ON CONFLICT then writes an unchanged text, so
                // the guard restores the old mark.
                4 => {
                    let row = rows[index].clone();
                    let statement = format!(
                        "INSERT INTO marked VALUES ({}, {title}, '{}', {}) ON CONFLICT (id) DO UPDATE
                         SET title = excluded.title, body = excluded.body, near = excluded.near",
                        row.id,
                        row.text,
                        mark_sql(mark)
                    );
                    let allowed = vec![row.mark];
                    (statement, row, allowed)
                }
                5 => {
                    let row = rows[index].clone();
                    let allowed = vec![row.mark];
                    (format!("UPDATE marked SET title = {title} WHERE id = {}", row.id), row, allowed)
                }
                6 | 7 => {
                    let row = rows[index].clone();
                    (format!("UPDATE marked SET near = {} WHERE id = {}", mark_sql(mark), row.id), row, vec![mark])
                }
                _ => {
                    let row = rows.swap_remove(index);
                    run(&format!("DELETE FROM marked WHERE id = {}", row.id));
                    continue;
                }
            };
            run(&statement);
            let query = format!("SELECT near FROM marked WHERE id = {}", row.id);
            let stored_mark = Spi::get_one::<i32>(&query).expect("the row is stored");
            assert!(allowed.contains(&stored_mark), "{stored_mark:?}, not {allowed:?}, seed {seed}: {statement}");
            rows.retain(|other| other.id != row.id);
            rows.push(ModelRow { mark: stored_mark, ..row });
            if !sets_marks_by_hand {
                check_marks(&rows);
            }
        }
        // The test has seen rows of each kind.
        assert!(rows.iter().any(|row| row.mark.is_some()) && rows.iter().any(|row| row.mark.is_none()));
    }

    fn check_marks(rows: &[ModelRow]) {
        let unmarked: Vec<_> = rows.iter().filter(|row| row.mark.is_none()).collect();
        for (index, row) in unmarked.iter().enumerate() {
            let near = unmarked[..index].iter().find(|other| are_near(row, other));
            assert!(near.is_none(), "{row:?} and {near:?} are unmarked");
        }
        for row in rows {
            let (mut reached, mut steps) = (row, 0);
            while let Some(mark) = reached.mark {
                reached = rows.iter().find(|row| row.id == mark).expect("no row was deleted");
                steps += 1;
                assert!(steps <= rows.len(), "the mark of row {} leads to no unmarked row", row.id);
            }
        }
    }

    #[pg_extern(sql = false)]
    fn random_marks() {
        (0..4).for_each(|seed| random_statements(seed, false));
    }

    #[pg_extern(sql = false)]
    fn random_marks_by_hand() {
        (10..14).for_each(|seed| random_statements(seed, true));
    }
}
