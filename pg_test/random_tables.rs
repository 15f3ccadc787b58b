//! Random tables with fingerprints and indexes on their blocks: whole layouts, and damaged ones.

use simhash::random::Random;

/// The fingerprints of one test, as centres of clusters. They are written as numbers or as texts.
pub enum Values {
    Numbers(Vec<u64>),
    Texts(Vec<u64>),
}

const WORDS: u64 = 40;

impl Values {
    pub fn new(random: &mut Random) -> Self {
        let mut centres: Vec<_> = (0..1 + random.below(5)).map(|_| random.next()).collect();
        // Often 0, which stands for a missing value, so that rows that an outer join fills with NULLs may be near.
        if random.below(2) == 0 {
            centres[0] = 0;
        }
        if random.below(3) == 0 { Self::Texts(centres) } else { Self::Numbers(centres) }
    }

    /// A fingerprint near the centre of a cluster, or a special one, as an SQL expression.
    pub fn fingerprint(&self, random: &mut Random) -> String {
        match self {
            Self::Numbers(centres) => format!("bigint '{}'", Self::number(centres, random).cast_signed()),
            Self::Texts(_) => format!("simhash({})", self.text(random)),
        }
    }

    fn number(centres: &[u64], random: &mut Random) -> u64 {
        match random.below(30) {
            0 => return *random.one_of(&[0, 1, u64::MAX, 1 << 63, (1 << 63) - 1]),
            1 => return random.next(),
            _ => {}
        }
        let mut number = *random.one_of(centres);
        let most = *random.one_of(&[1, 4, 6, 9, 22]);
        // Differing bits are scattered, or all within a few bits, which is the worst case of a layout.
        let (start, width) = *random.one_of(&[(0, 64), (0, 64), (0, 64), (0, 8), (16, 16), (32, 32), (42, 22)]);
        for _ in 0..random.below(most) {
            number ^= 1 << (start + random.below(width));
        }
        number
    }

    /// A text, as an SQL literal.
    pub fn text(&self, random: &mut Random) -> String {
        let (Self::Numbers(centres) | Self::Texts(centres)) = self;
        if random.below(30) == 0 {
            return "''".to_owned();
        }
        let centre = *random.one_of(centres);
        let mut words: Vec<_> = (0..WORDS).map(|n| Random(centre ^ n).below(1000)).collect();
        for _ in 0..random.below(4) {
            words[random.below(WORDS) as usize] = random.below(1000);
        }
        if random.below(3) == 0 {
            words.truncate((WORDS - random.below(WORDS / 2)) as usize);
        }
        format!("'{}'", words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" "))
    }
}

/// How a table gets its fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Column,
    Domain,
    Not,
    Xor,
    Coalesce,
    Digits,
    Text,
}

impl Source {
    /// The expression that computes the fingerprint.
    pub fn expression(self, prefix: &str) -> String {
        match self {
            Self::Column | Self::Domain => format!("{prefix}fp"),
            Self::Not => format!("(~{prefix}raw)"),
            Self::Xor => format!("({prefix}raw # bigint '1311768467463790320')"),
            Self::Coalesce => format!("coalesce({prefix}raw, bigint '0')"),
            Self::Digits => format!("({prefix}raw::bigint)"),
            Self::Text => format!("simhash({prefix}raw)"),
        }
    }

    fn columns(self) -> Vec<String> {
        let kind = match self {
            Self::Column => return vec!["fp bigint".to_owned()],
            Self::Domain => return vec!["fp fingerprint".to_owned()],
            Self::Digits | Self::Text => "text",
            _ => "bigint",
        };
        let computed = format!("fp bigint GENERATED ALWAYS AS ({}) STORED", self.expression(""));
        vec![computed, format!("raw {kind}")]
    }

    /// A value for the column that is inserted.
    fn value(self, values: &Values, random: &mut Random) -> String {
        if random.below(15) == 0 {
            return "NULL".to_owned();
        }
        match self {
            Self::Column | Self::Domain | Self::Coalesce => values.fingerprint(random),
            Self::Not => format!("~{}", values.fingerprint(random)),
            Self::Xor => format!("{} # bigint '1311768467463790320'", values.fingerprint(random)),
            Self::Digits => format!("({})::text", values.fingerprint(random)),
            Self::Text => values.text(random),
        }
    }
}

/// What may be wrong with the blocks of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    None,
    NoIndex,
    Partial,
    Second,
    Hash,
    Invalid,
    /// The block is computed from the fingerprint with a bit flipped.
    OtherFingerprint,
    OtherBlock,
    OtherLayout,
    OtherFunction,
    /// The column has the right name, but is not generated.
    Plain,
    WrongType,
    Coalesced,
    OneMember,
}

/// The blocks of one layout in a table.
struct Layout {
    blocks: u64,
    /// Whether the blocks are generated columns, rather than expressions in indexes.
    columns: bool,
    /// Whether blocks are computed from the source's expression, rather than from the fingerprint column. Generated
    /// columns must be, if the fingerprint is itself generated.
    of_source: bool,
    /// Whether the indexes begin with the column `tag`, for searches within one value of it.
    scoped: bool,
    /// The keys after the block: the size of the text, or what looks like it.
    size: &'static str,
    damage: Damage,
    /// The damaged block; None if all are.
    damaged: Option<u64>,
}

impl Layout {
    fn new(random: &mut Random, source: Source, matview: bool) -> Self {
        let damage = *random.one_of(&[
            Damage::NoIndex,
            Damage::Partial,
            Damage::Second,
            Damage::Hash,
            Damage::Invalid,
            Damage::OtherFingerprint,
            Damage::OtherBlock,
            Damage::OtherLayout,
            Damage::OtherFunction,
            Damage::Plain,
            Damage::WrongType,
            Damage::Coalesced,
            Damage::OneMember,
        ]);
        let blocks = *random.one_of(&[2, 3, 4, 4, 4, 5, 6, 7, 8]);
        let columns = !matview && random.below(3) > 0;
        let sizes: &[&str] = match source {
            Source::Text if !matview => &[
                "",
                ", simhash_size(raw)",
                ", simhash_size(raw)",
                ", simhash_size(raw, '{}')",
                ", simhash_size(content => raw) DESC",
                ", simhash_size(raw, '{\"ngram\": 2}')",
                ", tag, simhash_size(raw)",
            ],
            _ => &[""],
        };
        let computed = !matview && !matches!(source, Source::Column | Source::Domain);
        Self {
            blocks,
            columns,
            of_source: computed && (columns || random.below(2) == 0),
            scoped: random.below(4) == 0,
            size: *random.one_of(sizes),
            damage: if random.below(4) == 0 { damage } else { Damage::None },
            damaged: (random.below(3) > 0).then(|| random.below(blocks)),
        }
    }

    fn damage(&self, block: u64) -> Damage {
        if self.damaged.is_none_or(|damaged| damaged == block) { self.damage } else { Damage::None }
    }

    fn name(&self, block: u64) -> String {
        format!("b{}_{block}", self.blocks)
    }

    fn expression(&self, block: u64, source: Source) -> String {
        let of = if self.of_source { source.expression("") } else { "fp".to_owned() };
        let blocks = self.blocks;
        match self.damage(block) {
            Damage::OtherFingerprint => format!("simhash_block({of} # bigint '1', {block}, {blocks})"),
            Damage::OtherBlock => format!("simhash_block({of}, {}, {blocks})", (block + 1) % blocks),
            Damage::OtherLayout if blocks == 8 => format!("simhash_block({of}, {}, 2)", block % 2),
            Damage::OtherLayout => format!("simhash_block({of}, {block}, {})", blocks + 1),
            Damage::OtherFunction => format!("other.simhash_block({of}, {block}, {blocks})"),
            Damage::Coalesced => format!("coalesce(simhash_block({of}, {block}, {blocks}), 0)"),
            _ if blocks == 4 => format!("simhash_block({of}, {block})"),
            _ => format!("simhash_block({of}, {block}, {blocks})"),
        }
    }

    fn column(&self, block: u64, source: Source) -> String {
        let (name, expression) = (self.name(block), self.expression(block, source));
        match self.damage(block) {
            Damage::Plain => format!("{name} integer DEFAULT 7"),
            Damage::WrongType => format!("{name} bigint GENERATED ALWAYS AS ({expression}) STORED"),
            _ => format!("{name} integer GENERATED ALWAYS AS ({expression}) STORED"),
        }
    }

    fn indexes(&self, table: &str, source: Source, random: &mut Random) -> Vec<String> {
        let mut statements = Vec::new();
        for block in 0..self.blocks {
            let scope = if self.scoped { "tag, " } else { "" };
            let key = match self.columns {
                true => format!("{scope}{}{}", self.name(block), self.size),
                false => format!("{scope}({}){}", self.expression(block, source), self.size),
            };
            let name = format!("{table}_{}", self.name(block));
            let (mut method, mut keys, mut rest) = ("btree", key.clone(), "");
            match self.damage(block) {
                Damage::NoIndex => continue,
                Damage::Partial => rest = *random.one_of(&[" WHERE tag > 1", " WHERE fp IS NOT NULL", " WHERE id > 5"]),
                Damage::Second => keys = format!("k, {key}"),
                Damage::Hash if !self.scoped && self.size.is_empty() => method = "hash",
                _ => match random.below(16) {
                    0 => keys = format!("{} DESC", key.trim_end_matches(" DESC")),
                    1 => keys = format!("{key} NULLS FIRST"),
                    2 => keys = format!("{key}, fp"),
                    3 => rest = " INCLUDE (id)",
                    4 => rest = " INCLUDE (id, fp)",
                    5 => rest = " INCLUDE (tag, fp, k)",
                    6..13 => rest = " INCLUDE (fp)",
                    _ => {}
                },
            }
            statements.push(format!("CREATE INDEX {name} ON {table} USING {method} ({keys}){rest}"));
            if self.damage(block) == Damage::Invalid {
                statements
                    .push(format!("UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass"));
            }
        }
        statements
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    Plain,
    Hash,
    List,
    Range,
    Inherited,
    MaterializedView,
}

/// A table with the columns `id`, `tag`, `k`, `fp` and others.
pub struct Table {
    pub kind: TableKind,
    pub source: Source,
    pub rows: u64,
    pub setup: Vec<String>,
}

fn shuffle(random: &mut Random, items: &mut [String]) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

impl Table {
    pub fn new(random: &mut Random, name: &str, most_rows: u64, values: &Values) -> Self {
        let kind = *random.one_of(&[
            TableKind::Plain,
            TableKind::Plain,
            TableKind::Plain,
            TableKind::Hash,
            TableKind::List,
            TableKind::Range,
            TableKind::Inherited,
            TableKind::Inherited,
            TableKind::MaterializedView,
        ]);
        let source = match values {
            Values::Texts(_) => *random.one_of(&[Source::Text, Source::Text, Source::Text, Source::Column]),
            Values::Numbers(_) => *random.one_of(&[
                Source::Column,
                Source::Column,
                Source::Domain,
                Source::Not,
                Source::Xor,
                Source::Coalesce,
                Source::Coalesce,
                Source::Digits,
            ]),
        };
        let mut layouts: Vec<Layout> = Vec::new();
        for _ in 0..*random.one_of(&[0, 1, 1, 1, 2, 2, 3]) {
            let layout = Layout::new(random, source, kind == TableKind::MaterializedView);
            if layouts.iter().all(|other| other.blocks != layout.blocks) {
                layouts.push(layout);
            }
        }
        let rows = random.below(most_rows);
        let mut table = Self { kind, source, rows, setup: Vec::new() };
        table.create(random, name, &layouts);
        table.fill(random, name, values);
        table.index(random, name, &layouts);
        table.attach(random, name);
        table
    }

    fn base(&self, name: &str) -> String {
        if self.kind == TableKind::MaterializedView { format!("{name}_base") } else { name.to_owned() }
    }

    fn columns(&self, random: &mut Random, layouts: &[Layout]) -> Vec<String> {
        let mut columns = self.source.columns();
        columns.extend(["tag integer", "k integer", "n0 integer DEFAULT 0", "n1 integer DEFAULT 7"].map(str::to_owned));
        for layout in layouts.iter().filter(|layout| layout.columns) {
            columns.extend((0..layout.blocks).map(|block| layout.column(block, self.source)));
        }
        // Often the fingerprint stays the second column, so that attnums of several tables are easily confused.
        let fixed = if random.below(2) == 0 { 1 } else { 0 };
        shuffle(random, &mut columns[fixed..]);
        columns.insert(0, "id integer".to_owned());
        columns
    }

    fn create(&mut self, random: &mut Random, name: &str, layouts: &[Layout]) {
        let name = &self.base(name);
        let mut columns = self.columns(random, layouts);
        let dropped = random.below(3);
        for n in 0..dropped {
            columns.insert(random.below(columns.len() as u64 + 1) as usize, format!("x{n} text"));
        }
        let by = match self.kind {
            TableKind::Hash => " PARTITION BY HASH (id)",
            TableKind::List => " PARTITION BY LIST (tag)",
            TableKind::Range => " PARTITION BY RANGE (id)",
            _ => "",
        };
        let persistence = if by.is_empty() { *random.one_of(&["", "", "", "UNLOGGED "]) } else { "" };
        self.setup.push(format!("CREATE {persistence}TABLE {name} ({}){by}", columns.join(", ")));
        for n in 0..dropped {
            self.setup.push(format!("ALTER TABLE {name} DROP COLUMN x{n}"));
        }
        let bounds: &[&str] = match self.kind {
            TableKind::Hash => &[
                "FOR VALUES WITH (MODULUS 3, REMAINDER 0)",
                "FOR VALUES WITH (MODULUS 3, REMAINDER 1)",
                "FOR VALUES WITH (MODULUS 3, REMAINDER 2)",
            ],
            TableKind::List => &["FOR VALUES IN (0, 1)", "FOR VALUES IN (2, NULL)", "DEFAULT"],
            TableKind::Range => &["FOR VALUES FROM (1) TO (30)", "FOR VALUES FROM (30) TO (MAXVALUE)"],
            TableKind::Inherited => &["", ""],
            TableKind::Plain | TableKind::MaterializedView => &[],
        };
        for (n, bound) in bounds.iter().enumerate() {
            let member = format!("{name}_{n}");
            let statements = match (self.kind, random.below(2)) {
                (TableKind::Inherited, 0) => {
                    vec![format!("CREATE TABLE {member} (more integer) INHERITS ({name})")]
                }
                (TableKind::Inherited, _) => {
                    let mut own = self.columns(random, layouts);
                    own.insert(random.below(3) as usize, "more integer".to_owned());
                    vec![
                        format!("CREATE TABLE {member} ({})", own.join(", ")),
                        format!("ALTER TABLE {member} INHERIT {name}"),
                    ]
                }
                (_, 0) => vec![format!("CREATE TABLE {member} PARTITION OF {name} {bound}")],
                _ => {
                    let mut own = self.columns(random, layouts);
                    own.insert(0, "x integer".to_owned());
                    vec![
                        format!("CREATE TABLE {member} ({})", own.join(", ")),
                        format!("ALTER TABLE {member} DROP COLUMN x"),
                        format!("ALTER TABLE {name} ATTACH PARTITION {member} {bound}"),
                    ]
                }
            };
            self.setup.extend(statements);
        }
    }

    fn fill(&mut self, random: &mut Random, name: &str, values: &Values) {
        let base = self.base(name);
        let source = if matches!(self.source, Source::Column | Source::Domain) { "fp" } else { "raw" };
        let mut rows = [vec![], vec![], vec![]];
        let mut last = "NULL".to_owned();
        for id in 1..=self.rows {
            // Often repeats the last value: duplicates are common.
            if random.below(4) > 0 {
                last = self.source.value(values, random);
            }
            let member = if self.kind == TableKind::Inherited { random.below(3) as usize } else { 0 };
            // Distances that differ by row are small, since the probes are made for each row.
            let k = *random.one_of(&["0", "1", "2", "3", "3", "4", "5", "-1", "NULL"]);
            rows[member].push(format!("({id}, {}, {k}, {last})", random.one_of(&["0", "1", "2", "3", "NULL"])));
        }
        for (member, rows) in [base.clone(), format!("{base}_0"), format!("{base}_1")].iter().zip(rows) {
            if !rows.is_empty() {
                self.setup.push(format!("INSERT INTO {member} (id, tag, k, {source}) VALUES {}", rows.join(", ")));
            }
        }
        if self.kind == TableKind::MaterializedView {
            self.setup.push(format!("CREATE MATERIALIZED VIEW {name} AS SELECT k, fp, id, n0, tag FROM {base}"));
        }
        if random.below(4) > 0 {
            self.setup.push(format!("ANALYZE {name}"));
        }
    }

    /// Sometimes has simhash_attach index the fingerprint too, within a scope or not, with or without columns.
    fn attach(&mut self, random: &mut Random, name: &str) {
        if self.kind == TableKind::MaterializedView || random.below(3) > 0 {
            return;
        }
        let blocks = random.one_of(&[2, 3, 4, 4, 5]);
        let scope = random.one_of(&["{}", "{tag}", "{tag}", "{n0}", "{tag,n0}", "{k,tag}"]);
        let columns = random.below(2) == 0;
        let source = if self.source == Source::Text { "raw" } else { "fp" };
        self.setup.push(format!(
            "SELECT simhash_attach('{name}', '{source}', blocks => {blocks}, prefix => 'attached', scope => '{scope}', \
             columns => {columns})"
        ));
    }

    fn index(&mut self, random: &mut Random, name: &str, layouts: &[Layout]) {
        let members: &[&str] = match self.kind {
            TableKind::Inherited | TableKind::Hash | TableKind::List => &["_0", "_1"],
            _ => &[],
        };
        for layout in layouts {
            let one_member = layout.damage == Damage::OneMember;
            // An index on the parent covers partitions, but not inherited tables.
            let each = self.kind == TableKind::Inherited || one_member && !members.is_empty();
            if !one_member || members.is_empty() {
                self.setup.extend(layout.indexes(name, self.source, random));
            }
            for member in members.iter().take(if one_member { 1 } else { 2 }).filter(|_| each) {
                // A child may have an index that only looks alike.
                let other = Layout { damage: Damage::OtherFingerprint, damaged: Some(0), ..*layout };
                let layout = if !layout.columns && random.below(4) == 0 { &other } else { layout };
                self.setup.extend(layout.indexes(&format!("{name}{member}"), self.source, random));
            }
        }
    }
}
