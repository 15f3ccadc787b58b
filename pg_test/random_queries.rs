//! Random queries with `simhash_near` wherever a query may have a condition.
//!
//! A condition is written `«fingerprint¦query¦distance»`, so that one text gives several queries, with conditions that
//! are written differently and mean the same.

use simhash::random::Random;

use super::random_tables::{Table, TableKind, Values};

/// A statement, the statements before it, and a query that shows what it did if it does not return that itself.
pub struct Case {
    pub before: Vec<String>,
    pub statement: String,
    pub after: Option<String>,
}

impl Case {
    /// The case with each call written by `call` from its three arguments.
    pub fn spelled(&self, call: fn(&str, &str, &str) -> String) -> Self {
        let spell = |text: &String| {
            let mut parts = text.split('«');
            let mut spelled = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (arguments, rest) = part.split_once('»').expect("a call ends");
                let arguments: Vec<_> = arguments.split('¦').collect();
                spelled += &call(arguments[0], arguments[1], arguments[2]);
                spelled += rest;
            }
            spelled
        };
        Self {
            before: self.before.iter().map(spell).collect(),
            statement: spell(&self.statement),
            after: self.after.as_ref().map(spell),
        }
    }
}

/// An alias in FROM with the columns `id`, `tag`, `k` and `fp`.
#[derive(Clone)]
struct Alias {
    name: &'static str,
    /// The expression that computes the fingerprint, if the query may use it.
    expression: Option<String>,
}

/// Makes queries of the tables `t` and `u`, and of views of them.
pub struct Queries<'a> {
    pub random: &'a mut Random,
    pub values: &'a Values,
    pub t: &'a Table,
    pub u: &'a Table,
    parameters: Option<Vec<(&'static str, String)>>,
    /// Whether sub-selects may read `t`. They may not in a policy of `t`.
    t_is_known: bool,
}

/// A table whose columns have the attnums of those of `t`, but with -1 in its block columns: if a column of one table
/// is mistaken for a column of the other, a query gives wrong rows.
pub const ALIKE: [&str; 2] = [
    "CREATE TABLE alike AS SELECT * FROM t",
    "DO $$
    DECLARE
        block name;
    BEGIN
        FOR block IN
            SELECT attname FROM pg_attribute
            WHERE attrelid = 'alike'::regclass AND attnum > 0 AND atttypid = 'integer'::regtype
                AND attname NOT IN ('id', 'tag', 'k')
        LOOP
            EXECUTE format('UPDATE alike SET %I = -1', block);
        END LOOP;
    END $$",
];

/// Views of `t` and `u` with the same columns.
pub fn views(t: &Table) -> Vec<String> {
    let mut views = vec![
        "CREATE VIEW plain AS SELECT fp, id, k, tag FROM t".to_owned(),
        "CREATE VIEW barrier WITH (security_barrier) AS SELECT id, k, tag, fp FROM t WHERE tag < 3".to_owned(),
        "CREATE VIEW renamed (k, id, tag, fp) AS SELECT k, id, n0, fp FROM t WHERE id % 3 > 0".to_owned(),
        "CREATE VIEW two AS SELECT id, tag, k, fp FROM t UNION ALL SELECT id, tag, k, fp FROM u".to_owned(),
        "CREATE VIEW outer_joined AS SELECT u.id, u.tag, u.k, t.fp FROM u LEFT JOIN t ON t.id = u.id".to_owned(),
        "CREATE VIEW grouped AS SELECT min(id) AS id, min(tag) AS tag, max(k) AS k, fp FROM t GROUP BY fp".to_owned(),
        "CREATE VIEW changed AS SELECT id, tag, k, coalesce(fp, bigint '0') AS fp FROM t".to_owned(),
    ];
    if t.kind != TableKind::MaterializedView {
        let expression = t.source.expression("");
        views.push(format!("CREATE VIEW computed AS SELECT id, tag, k, {expression} AS fp FROM t"));
        views.push(format!(
            "CREATE VIEW outer_computed AS SELECT u.id, u.tag, u.k, {} AS fp FROM u LEFT JOIN t ON t.id = u.id",
            t.source.expression("t.")
        ));
    }
    views
}

impl<'a> Queries<'a> {
    pub fn new(random: &'a mut Random, values: &'a Values, t: &'a Table, u: &'a Table) -> Self {
        Self { random, values, t, u, parameters: None, t_is_known: true }
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *self.random.one_of(choices)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    /// Random settings of the planner, as statements.
    pub fn settings(&mut self) -> Vec<String> {
        let mut settings = Vec::new();
        for (setting, chance) in [
            ("enable_bitmapscan = off", 5),
            ("enable_indexscan = off", 8),
            ("enable_nestloop = off", 6),
            ("enable_hashjoin = off", 3),
            ("enable_mergejoin = off", 3),
            ("enable_material = off", 5),
            ("enable_memoize = off", 3),
            ("enable_hashagg = off", 3),
            ("enable_sort = off", 6),
            ("enable_partition_pruning = off", 5),
            ("enable_partitionwise_join = on", 3),
            ("enable_partitionwise_aggregate = on", 3),
            ("constraint_exclusion = on", 3),
            ("join_collapse_limit = 1", 5),
            ("from_collapse_limit = 1", 5),
        ] {
            if self.below(chance) == 0 {
                settings.push(format!("SET LOCAL {setting}"));
            }
        }
        settings
    }

    fn parameter(&mut self, kind: &'static str, value: String) -> String {
        match &mut self.parameters {
            Some(parameters) => {
                parameters.push((kind, value));
                format!("${}", parameters.len())
            }
            None => value,
        }
    }

    fn known_distance(&mut self) -> String {
        let below = self.one_of(&[4, 9, 9, 9, 21, 21, 71]);
        if self.below(30) == 0 {
            return self.one_of(&["-1", "-2147483648", "2147483647", "NULL::integer"]).to_owned();
        }
        self.below(below).to_string()
    }

    fn distance(&mut self, others: &[Alias]) -> String {
        let id = 1 + self.below(30);
        match self.below(20) {
            0..10 => self.known_distance(),
            10..13 => "3".to_owned(),
            13 if self.parameters.is_none() => format!("(SELECT k FROM u WHERE id = {id} AND tag = 1 LIMIT 1)"),
            14 | 15 if !others.is_empty() => {
                let other = self.random.one_of(others).name;
                self.one_of(&["{}.k", "{}.k", "{}.k + 1"]).replace("{}", other)
            }
            // A stable function: the planner estimates its value.
            16 => format!("(extract(year FROM now())::integer - extract(year FROM now())::integer + {})", id % 6),
            17 if self.below(40) == 0 => self.parameter("integer", (id * 2).to_string()),
            17..20 => {
                let value = self.one_of(&["0", "1", "2", "3", "5", "6", "-1", "12", "NULL"]).to_owned();
                self.parameter("integer", value)
            }
            _ => "3".to_owned(),
        }
    }

    fn query(&mut self, others: &[Alias]) -> String {
        let id = 1 + self.below(30);
        if !others.is_empty() && self.below(5) < 3 {
            let other = self.random.one_of(others).name;
            return self
                .one_of(&["{}.fp", "{}.fp", "{}.fp", "{}.fp", "coalesce({}.fp, bigint '0')", "({}.fp # bigint '3')"])
                .replace("{}", other);
        }
        match self.below(12) {
            0 => format!("(SELECT fp FROM u WHERE id = {id} LIMIT 1)"),
            1 if self.t_is_known => format!("(SELECT max(fp) FROM t WHERE id <= {id} AND tag = 2)"),
            2 if self.below(4) == 0 => "NULL::bigint".to_owned(),
            3 if self.below(4) == 0 => format!("({} + (random() * 0)::bigint)", self.values.fingerprint(self.random)),
            4 if !others.is_empty() => {
                let other = self.random.one_of(others).name;
                format!("(SELECT fp FROM u AS correlated WHERE correlated.id = {other}.id LIMIT 1)")
            }
            _ => {
                let value = self.values.fingerprint(self.random);
                self.parameter("bigint", value)
            }
        }
    }

    fn near(&mut self, aliases: &[Alias]) -> String {
        let i = self.below(aliases.len() as u64) as usize;
        let others: Vec<_> =
            aliases.iter().enumerate().filter(|(n, _)| *n != i).map(|(_, alias)| alias.clone()).collect();
        let alias = &aliases[i];
        let fingerprint = match (&alias.expression, self.below(12)) {
            (Some(expression), 0..3) => expression.clone(),
            (_, 11) => format!("coalesce({}.fp, bigint '7')", alias.name),
            _ => format!("{}.fp", alias.name),
        };
        let (query, distance) = (self.query(&others), self.distance(&others));
        let near = match self.below(4) {
            0 => format!("«{query}¦{fingerprint}¦{distance}»"),
            _ => format!("«{fingerprint}¦{query}¦{distance}»"),
        };
        match self.text_of(alias) {
            Some(text) if self.below(3) > 0 => self.compared(&near, &text, &others),
            _ => near,
        }
    }

    /// The column with the text that an alias's fingerprints are made from.
    fn text_of(&self, alias: &Alias) -> Option<String> {
        alias.expression.as_ref()?.strip_prefix("simhash(")?.strip_suffix(')').map(str::to_owned)
    }

    /// A condition that also compares texts, in ways that may limit the sizes of those that are searched.
    fn compared(&mut self, near: &str, text: &str, others: &[Alias]) -> String {
        let of_others: Vec<_> = others.iter().filter_map(|other| self.text_of(other)).collect();
        let other = match of_others.first() {
            Some(other) if self.below(2) == 0 => other.clone(),
            _ => {
                let value = self.values.text(self.random);
                self.parameter("text", value)
            }
        };
        let least = self.one_of(&["0.84", "0.5", "0.3", "1", "0", "2", "NULL::float8"]).to_owned();
        let least = self.parameter("double precision", least);
        let options = self.one_of(&["", "", ", '{\"same\": [\"numbers\"]}'", ", '{\"ngram\": 2}'"]);
        let [a, b] = if self.below(2) == 0 { [text, &other] } else { [&other, text] };
        match self.below(6) {
            0 => format!("simhash_near({a}, {b})"),
            1 => format!("simhash_near({a}, {b}, '{{\"resemblance\": 0.3, \"max_distance\": 20, \"radii\": []}}')"),
            2 => format!("({near} AND {least} < simhash_resemblance({a}, {b}{options}))"),
            _ => format!("({near} AND simhash_resemblance({a}, {b}{options}) >= {least})"),
        }
    }

    fn condition(&mut self, aliases: &[Alias], depth: u32) -> String {
        if depth == 0 || self.below(2) == 0 {
            return self.near(aliases);
        }
        let alias = self.random.one_of(aliases).clone();
        let name = alias.name;
        let other = self.random.one_of(aliases).name;
        let first = self.condition(aliases, depth - 1);
        match self.below(16) {
            0 => format!("({first} AND {})", self.condition(aliases, depth - 1)),
            1 => format!("({first} OR {})", self.condition(aliases, depth - 1)),
            2 => format!("(NOT {first})"),
            3 => {
                let test = self.one_of(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "NULL", "NOT NULL", "UNKNOWN"]);
                format!("({first} IS {test})")
            }
            4 => format!("CASE WHEN {first} THEN {name}.tag > 0 ELSE {name}.id % 5 = 0 END"),
            5 => format!("coalesce({first}, {name}.id % 2 = 0)"),
            6 => format!("({first} = ({}))", self.condition(aliases, depth - 1)),
            7 => {
                let value = self.one_of(&["1", "ANY ('{1}')", "ANY (ARRAY[NULL, 1])", "ANY (ARRAY[1 + (SELECT 1)])"]);
                format!("({name}.tag = {value} AND {first})")
            }
            // A scope whose value comes from a join.
            11 => format!("({name}.tag = {other}.tag AND {first})"),
            12 => format!("({name}.tag = {other}.tag AND {name}.k = {other}.k + 1 AND {first})"),
            8 => format!("({name}.id < 4 OR {first})"),
            9 => format!("({first} OR {name}.fp IS NULL)"),
            10 => format!(
                "({name}.id < 0 OR {}EXISTS (SELECT FROM {} AS e WHERE e.id = {name}.id AND {}))",
                self.one_of(&["", "NOT "]),
                if self.t_is_known {
                    self.one_of(&["t", "u", "plain", "alike", "alike"])
                } else {
                    self.one_of(&["u", "alike"])
                },
                self.near(&[Alias { name: "e", expression: None }]),
            ),
            // A semi-join or an anti-join with another equality, which may be a hash join.
            13 | 14 => format!(
                "{}EXISTS (SELECT FROM {} AS e WHERE e.tag = {name}.tag AND e.id < {name}.id AND {})",
                self.one_of(&["", "NOT "]),
                self.one_of(&["u", "alike"]),
                self.near(&[Alias { name: "e", expression: None }, alias]),
            ),
            _ => format!("({name}.id <= 40 AND {first})"),
        }
    }

    fn alias(&mut self, name: &'static str) -> (String, Alias) {
        let mut expression = None;
        let t_expression =
            (self.t.kind != TableKind::MaterializedView).then(|| self.t.source.expression(&format!("{name}.")));
        let u_expression =
            (self.u.kind != TableKind::MaterializedView).then(|| self.u.source.expression(&format!("{name}.")));
        let near = self.near(&[Alias { name: "s", expression: None }]);
        let views = views(self.t);
        let relation = match self.below(24) {
            0..10 => {
                expression = t_expression;
                "t".to_owned()
            }
            10..13 => {
                expression = u_expression;
                "u".to_owned()
            }
            13 => "ONLY t".to_owned(),
            14 => format!("(SELECT id, tag, k, fp FROM t AS s WHERE {near} ORDER BY id LIMIT 20)"),
            15 => "(SELECT DISTINCT id, tag, k, fp FROM t)".to_owned(),
            16 => format!("(SELECT id, k, tag, fp FROM t AS s WHERE {near} OFFSET 0)"),
            17 => "(SELECT id, k, fp, row_number() OVER (PARTITION BY fp ORDER BY id) AS tag FROM t)".to_owned(),
            18 => format!("(SELECT id, tag, k, fp FROM t UNION SELECT id, tag, k, fp FROM u AS s WHERE {near})"),
            _ => {
                let view = self.random.one_of(&views).split(' ').nth(2).unwrap_or("plain");
                view.to_owned()
            }
        };
        (format!("{relation} AS {name}"), Alias { name, expression })
    }

    fn from(&mut self) -> (String, Vec<Alias>) {
        let (mut from, first) = self.alias("a");
        let mut aliases = vec![first];
        for name in ["b", "c"] {
            let chance = if name == "b" { 2 } else { 4 };
            if self.below(chance) > 0 {
                break;
            }
            let (relation, alias) = self.alias(name);
            let join = self.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            aliases.push(alias);
            let last = &aliases[aliases.len() - 2..];
            let near = self.condition(last, 1);
            let equal = format!("{}.id = {name}.id", last[0].name);
            let condition = match (join, self.below(3)) {
                ("FULL JOIN", 0) | (_, 1) => equal,
                ("FULL JOIN", _) => format!("{equal} AND {near}"),
                _ if name == "c" => format!("{equal} AND {near}"),
                _ => near,
            };
            from = format!("{from} {join} {relation} ON {condition}");
        }
        (from, aliases)
    }

    fn all_columns(aliases: &[Alias]) -> String {
        aliases
            .iter()
            .map(|alias| ["id", "tag", "k", "fp"].map(|column| format!("{}.{column}", alias.name)).join(", "))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// A random `SELECT ... FROM ... WHERE ...`.
    fn select(&mut self) -> String {
        let (from, aliases) = self.from();
        let columns = Self::all_columns(&aliases);
        let depth = self.one_of(&[0, 0, 1, 2]);
        let condition = self.condition(&aliases, depth);
        let name = self.random.one_of(&aliases).name;
        let inner_alias = self.alias("s");
        let mut with_inner = aliases.clone();
        with_inner.push(inner_alias.1.clone());
        let inner = inner_alias.0;
        match self.below(25) {
            20 => {
                let condition = self.condition(&with_inner, 1);
                let operator = self.one_of(&["EXISTS", "NOT EXISTS"]);
                format!(
                    "SELECT {columns}, {operator} (SELECT FROM {inner} WHERE s.id = {name}.id AND {condition}) FROM \
                     {from}"
                )
            }
            // A sub-select that an arm of a set operation returns.
            21 | 22 => {
                let (first, mut second) = (self.alias("e"), self.alias("f"));
                if self.below(2) == 0 {
                    second = ("alike AS f".to_owned(), Alias { name: "f", expression: None });
                }
                let condition = self.near(&[second.1]);
                let (operator, near) = (self.one_of(&["UNION ALL", "UNION ALL", "UNION"]), self.near(&aliases));
                let other = self.one_of(&["SELECT id, false FROM u", "SELECT id, tag = 1 FROM t", "SELECT 1, NULL"]);
                format!(
                    "SELECT {columns}, arms.found FROM {from}, \
                     (SELECT e.id, EXISTS (SELECT FROM {} WHERE f.id = e.id AND {condition}) AS found FROM {} \
                     {operator} {other}) AS arms WHERE arms.id = {name}.id AND ({near} OR {name}.id < 20)",
                    second.0, first.0
                )
            }
            // Grouping sets over the expression of a fingerprint.
            23 | 24 => {
                let (relation, alias) = self.alias("a");
                let fingerprint = alias.expression.clone().unwrap_or_else(|| "a.fp".to_owned());
                let sets = self
                    .one_of(&["ROLLUP ({})", "GROUPING SETS (({}), ())", "CUBE ({}, a.tag)", "ROLLUP (a.tag, {})"])
                    .replace("{}", &fingerprint);
                let (query, distance) = (self.query(&[]), self.known_distance());
                let near = format!("«{fingerprint}¦{query}¦{distance}»");
                let outer = self.near(&[Alias { name: "s", expression: None }]);
                if self.below(2) == 0 {
                    let also = self.one_of(&["", "NOT "]);
                    format!(
                        "SELECT {near}, grouping({fingerprint}), count(*) FROM {relation} GROUP BY {sets} \
                         HAVING {also}{near} OR count(*) > 2"
                    )
                } else {
                    let also = self.one_of(&["", "NOT "]);
                    format!(
                        "SELECT s.fp, s.n FROM (SELECT {fingerprint} AS fp, 1 AS id, 2 AS k, 3 AS tag, count(*) AS n \
                         FROM {relation} GROUP BY {sets}) AS s WHERE {also}{outer}"
                    )
                }
            }
            0..5 => format!("SELECT {columns} FROM {from} WHERE {condition}"),
            5 => format!("SELECT {columns}, {}, {condition} FROM {from}", self.near(&aliases)),
            6 => {
                let query = self.values.fingerprint(self.random);
                let limit = self.below(10);
                format!(
                    "SELECT {columns} FROM {from} WHERE {condition} ORDER BY {name}.fp <~> {query}, {columns} \
                     LIMIT {limit}"
                )
            }
            7 | 8 => {
                let operator = self.one_of(&["EXISTS", "NOT EXISTS"]);
                let condition = self.condition(&with_inner, 1);
                format!("SELECT {columns} FROM {from} WHERE {operator} (SELECT FROM {inner} WHERE {condition})")
            }
            9 => {
                let operator = self.one_of(&["IN", "NOT IN"]);
                let condition = self.condition(&with_inner, 1);
                format!(
                    "SELECT {columns} FROM {from} WHERE {name}.id {operator} \
                     (SELECT s.id FROM {inner} WHERE {condition})"
                )
            }
            10 => {
                let condition = self.near(&with_inner);
                format!("SELECT {columns}, (SELECT count(*) FROM {inner} WHERE {condition}) FROM {from}")
            }
            11 => {
                let (join, limit) = (self.one_of(&["LEFT JOIN", "JOIN"]), self.below(4));
                with_inner.last_mut().expect("s").expression = None;
                let inside = self.condition(&with_inner, 1);
                format!(
                    "SELECT {columns}, found.* FROM {from} {join} LATERAL (SELECT s.* FROM (SELECT id, tag, k, fp FROM \
                     {inner}) AS s WHERE {inside} ORDER BY s.fp <~> {name}.fp, s.id, s.tag, s.k, s.fp LIMIT {limit}) \
                     AS found ON true"
                )
            }
            12 => {
                let near = self.near(&aliases);
                format!(
                    "SELECT {name}.tag, count(*), bool_or({near}), count(*) FILTER (WHERE {condition}) FROM {from} \
                     GROUP BY {name}.tag"
                )
            }
            13 => {
                let alone = [Alias { name, expression: None }];
                let (shown, having) = (self.near(&alone), self.condition(&alone, 1));
                let sets = self.one_of(&[
                    "{}.fp, {}.k, {}.tag, {}.id",
                    "ROLLUP ({}.fp, {}.tag, {}.k, {}.id)",
                    "GROUPING SETS (({}.fp, {}.id), ({}.tag), ({}.k, {}.fp), ())",
                    "CUBE ({}.fp, {}.k), {}.id, {}.tag",
                ]);
                let more = self.one_of(&["", " OR count(*) > 1", " AND count(*) < 3"]);
                format!(
                    "SELECT {}.fp, {}.tag, count(*), {shown} FROM {from} GROUP BY {} HAVING {having}{more}",
                    name,
                    name,
                    sets.replace("{}", name)
                )
            }
            14 => format!("SELECT DISTINCT {}, {name}.tag FROM {from} WHERE {condition}", self.near(&aliases)),
            15 => {
                let near = self.near(&aliases);
                format!(
                    "SELECT {columns}, count(*) OVER (PARTITION BY {near}) FROM {from} WHERE {condition} \
                     ORDER BY {near}, {name}.id"
                )
            }
            16 => {
                let near = self.near(&aliases);
                format!("SELECT DISTINCT ON ({near}) {columns} FROM {from} ORDER BY {near}, {columns}")
            }
            17 => {
                let materialized = self.one_of(&["", "MATERIALIZED", "NOT MATERIALIZED"]);
                let outer = self.near(&[Alias { name: "found", expression: None }]);
                format!(
                    "WITH found AS {materialized} (SELECT {name}.id, {name}.tag, {name}.k, {name}.fp FROM {from} WHERE \
                     {condition}) SELECT * FROM found WHERE {outer} \
                     AND found.id NOT IN (SELECT id FROM found WHERE tag = 2)"
                )
            }
            18 => {
                let operator = self.one_of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                let (a, b) = (self.alias("a"), self.alias("b"));
                let (near_a, near_b) = (self.near(&[a.1]), self.near(&[b.1]));
                format!(
                    "SELECT a.id, a.tag, a.k, a.fp FROM {} WHERE {near_a} {operator} \
                     SELECT b.id, b.tag, b.k, b.fp FROM {} WHERE {near_b}",
                    a.0, b.0
                )
            }
            _ => {
                let distance = self.known_distance();
                format!(
                    "WITH RECURSIVE found AS (SELECT a.id, a.fp FROM t AS a WHERE a.id = 1 UNION \
                     SELECT b.id, b.fp FROM found AS f JOIN {inner} ON «s.fp¦f.fp¦{distance}» \
                     JOIN t AS b ON b.id = s.id) \
                     SELECT * FROM found"
                )
            }
        }
    }

    /// A query with an order by distance. Rows at the same distance may come in any order, so only distances are
    /// returned in order.
    fn ordered(&mut self) -> String {
        let (from, alias) = self.alias("a");
        let fingerprint = alias.expression.clone().unwrap_or_else(|| "a.fp".to_owned());
        let query = self.query(&[]);
        let is_any = self.parameters.is_none();
        let conditions = match self.below(6) {
            0 => format!("WHERE «{fingerprint}¦{query}¦{}»", self.known_distance()),
            1 if is_any => format!("WHERE {}", self.condition(std::slice::from_ref(&alias), 1)),
            2 => "WHERE a.tag < 3".to_owned(),
            _ => String::new(),
        };
        // A parameter that is written twice is the same parameter.
        let distance = |query: &str, way: u64| match way {
            0 => format!("hamming({query}, {fingerprint})"),
            1 => format!("{query} <~> {fingerprint}"),
            _ => format!("{fingerprint} <~> {query}"),
        };
        let shown = distance(&query, self.below(4));
        let limit = match self.below(3) {
            0 => String::new(),
            _ => format!("LIMIT {}", self.below(40)),
        };
        match self.below(12) {
            0 => format!("SELECT min({shown}) FROM {from} {conditions}"),
            1 => format!("SELECT min({shown}), max({shown}), count(*) FROM {from} {conditions}"),
            2 => format!("SELECT DISTINCT ON (d) {shown} AS d FROM {from} {conditions} ORDER BY d"),
            3 => format!("SELECT a.id, a.tag, a.fp, {shown} AS d FROM {from} {conditions} ORDER BY d, a.id"),
            4 => {
                let order = self.one_of(&["DESC", "NULLS FIRST", "DESC NULLS LAST"]);
                format!(
                    "SELECT array_agg(s.d) FROM (SELECT {shown} AS d FROM {from} {conditions} ORDER BY d {order} {limit}) AS s"
                )
            }
            5 | 6 => {
                let (others, other) = self.alias("b");
                let way = self.below(4);
                let nearest = distance(&format!("{}.fp", other.name), way);
                format!(
                    "SELECT b.id, b.fp, s.d FROM {others} CROSS JOIN LATERAL (SELECT {nearest} AS d FROM {from} \
                     {conditions} ORDER BY d LIMIT {}) AS s WHERE b.id < 30",
                    self.below(4)
                )
            }
            7 => {
                let operator = self.one_of(&["UNION ALL", "EXCEPT ALL"]);
                format!(
                    "(SELECT {shown} AS d FROM {from} {conditions} ORDER BY d {limit}) {operator} \
                     (SELECT {shown} AS d FROM {from} ORDER BY d LIMIT 5)"
                )
            }
            8 => format!(
                "SELECT array_agg(s.d) FROM (SELECT {shown} AS d, a.fp IS NULL FROM {from} {conditions} ORDER BY d, 2 \
                 {limit}) AS s"
            ),
            _ => format!(
                "SELECT array_agg(s.d) FROM (SELECT {shown} AS d FROM {from} {conditions} ORDER BY d {limit}) AS s"
            ),
        }
    }

    /// A statement that changes `t`, and a query that shows what it did if it does not return that itself.
    fn change(&mut self) -> (String, Option<String>) {
        let t = Alias { name: "x", expression: Some(self.t.source.expression("x.")) };
        let (from, other) = self.alias("b");
        let condition = self.condition(std::slice::from_ref(&t), 1);
        let joined = self.condition(&[t.clone(), other.clone()], 1);
        let shown = self.near(std::slice::from_ref(&t));
        let fp = if self.t.source.expression("") == "fp" { "fp" } else { "raw" };
        let set = self
            .one_of(&["tag = 1", "tag = x.tag + 1", "{} = NULL", "{} = DEFAULT", "k = 2, tag = NULL"])
            .replace("{}", fp);
        let one_row = Alias { name: "b", expression: None };
        let joined_to_one = self.condition(&[t.clone(), one_row.clone()], 1);
        match self.below(9) {
            0 => (format!("DELETE FROM t AS x WHERE {condition} RETURNING x.id, x.tag, x.fp, {shown}"), None),
            1 => (format!("DELETE FROM t AS x USING {from} WHERE {joined} RETURNING x.id, x.tag, x.fp"), None),
            2 | 3 => (format!("UPDATE t AS x SET {set} WHERE {condition} RETURNING x.id, x.tag, x.fp, {shown}"), None),
            4 => (format!("UPDATE t AS x SET {set} FROM {from} WHERE {joined} RETURNING x.id, x.tag, x.k, x.fp"), None),
            5 => (
                format!(
                    "INSERT INTO t AS x (id, tag, {fp}) SELECT id + 1000, tag, {fp} FROM t AS x WHERE {condition} \
                     RETURNING x.id, x.tag, x.fp, {shown}"
                ),
                None,
            ),
            6 => (
                format!(
                    "MERGE INTO t AS x USING (SELECT {} AS fp, 3 AS k, 2 AS id, 2 AS tag) AS b ON {joined_to_one} \
                     WHEN MATCHED AND {} THEN UPDATE SET {set} WHEN MATCHED AND x.tag = 1 THEN DELETE \
                     WHEN NOT MATCHED THEN INSERT (id, tag) VALUES (b.id + 1000, b.tag)",
                    self.values.fingerprint(self.random),
                    self.near(&[t, one_row]),
                ),
                Some("SELECT id, tag, k, fp FROM t".to_owned()),
            ),
            _ => (
                format!(
                    "MERGE INTO t AS x USING {from} ON x.id = b.id AND {joined} \
                     WHEN MATCHED AND {} THEN UPDATE SET {set} WHEN MATCHED THEN DELETE \
                     WHEN NOT MATCHED AND {} THEN INSERT (id, tag) VALUES (b.id + 1000, b.tag)",
                    self.near(&[t, other.clone()]),
                    self.near(&[other]),
                ),
                Some("SELECT id, tag, k, fp FROM t".to_owned()),
            ),
        }
    }

    pub fn case(&mut self) -> Case {
        let mut before = Vec::new();
        let mut after = None;
        let can_change = self.t.kind != TableKind::MaterializedView;
        let kind = self.below(20);
        if matches!(kind, 0..5) {
            self.parameters = Some(Vec::new());
        }
        let mut statement = match self.below(9) {
            0 if can_change && !matches!(kind, 5..9) => {
                let (statement, shows) = self.change();
                after = shows;
                statement
            }
            1 | 2 if !matches!(kind, 5..9) => {
                // The plain search.
                let (from, alias) = self.alias("a");
                format!("SELECT a.id FROM {from} WHERE {}", self.near(&[alias]))
            }
            3 | 4 => self.ordered(),
            _ => self.select(),
        };
        if let Some(parameters) = self.parameters.take() {
            let mode = self.one_of(&["force_generic_plan", "force_generic_plan", "force_custom_plan"]);
            before.push(format!("SET LOCAL plan_cache_mode = {mode}"));
            let (kinds, values): (Vec<_>, Vec<_>) = parameters.into_iter().unzip();
            let list = |list: String| if list.is_empty() { list } else { format!("({list})") };
            before.push(format!("PREPARE prepared {} AS {statement}", list(kinds.join(", "))));
            statement = format!("EXECUTE prepared {}", list(values.join(", ")));
        }
        let alone = [Alias { name: "t", expression: None }];
        match kind {
            5 => {
                before.push(format!("DECLARE c SCROLL CURSOR FOR {statement}"));
                statement = "FETCH ALL FROM c".to_owned();
            }
            6 => {
                before.push(format!("CREATE VIEW last AS SELECT count(*) FROM ({statement}) AS all_rows"));
                statement = "SELECT * FROM last".to_owned();
            }
            7 => {
                let body = format!("SELECT count(*) FROM ({statement}) AS all_rows");
                before.push(match self.below(2) {
                    0 => format!("CREATE FUNCTION last() RETURNS SETOF bigint STABLE LANGUAGE sql AS $${body}$$"),
                    _ => format!(
                        "CREATE FUNCTION last() RETURNS SETOF bigint LANGUAGE plpgsql AS \
                         $$BEGIN RETURN QUERY {body}; END$$"
                    ),
                });
                statement = "SELECT * FROM last()".to_owned();
            }
            8 if self.parameters.is_none() => {
                let (query, distance) = (self.values.fingerprint(self.random), self.known_distance());
                before.push(
                    "CREATE FUNCTION search(q bigint, d integer) RETURNS SETOF bigint STABLE LANGUAGE plpgsql AS \
                     $$BEGIN RETURN QUERY SELECT id::bigint FROM t AS a WHERE «a.fp¦q¦d»; END$$"
                        .to_owned(),
                );
                statement = format!("SELECT * FROM search({query}, {distance})");
            }
            9..12 if can_change => {
                self.t_is_known = false;
                let (using, check) = (self.condition(&alone, 1), self.near(&alone));
                self.t_is_known = true;
                before.push("ALTER TABLE t ENABLE ROW LEVEL SECURITY".to_owned());
                before.push(format!("CREATE POLICY p ON t USING ({using}) WITH CHECK ({check} OR t.id > 0)"));
                before.push("SET LOCAL ROLE regress_simhash_reader".to_owned());
                if kind == 11 {
                    before.pop();
                    before.push("ALTER TABLE t FORCE ROW LEVEL SECURITY".to_owned());
                    before.push("ALTER TABLE t OWNER TO regress_simhash_reader".to_owned());
                    before.push("SET LOCAL ROLE regress_simhash_reader".to_owned());
                }
            }
            12 if can_change => {
                let known = format!("«fp¦{}¦{}»", self.values.fingerprint(self.random), self.known_distance());
                before.push("SET LOCAL constraint_exclusion = on".to_owned());
                before.push(format!("DELETE FROM t WHERE NOT {known}"));
                before.push(format!("ALTER TABLE t ADD CHECK ({known})"));
            }
            13 if can_change => {
                let known = format!("«fp¦{}¦{}»", self.values.fingerprint(self.random), self.known_distance());
                before.push(format!("CREATE INDEX ON t (tag) WHERE {known}"));
            }
            _ => {}
        }
        Case { before, statement, after }
    }
}
