//! A relation of a query, for which an extension may offer paths to the planner.

use pgrx::pg_sys::{self, IndexOptInfo, Oid};

use super::comparison::Comparison;
use super::planner_info::Planner;
use crate::catalog::types::btree_strategy;
use crate::expression::{Expression, expressions};
use crate::list::{members, nodes};

/// A relation whose paths the planner is collecting: a table, a family of tables, or anything else in FROM.
#[derive(Clone, Copy)]
pub struct BaseRelation {
    pub(super) root: *mut pg_sys::PlannerInfo,
    pub(super) relation: *mut pg_sys::RelOptInfo,
    entry: *const pg_sys::RangeTblEntry,
}

/// The relations that an expression refers to besides the scanned one, such as `q` in a search of `docs` by
/// `simhash_near(docs.body, q.body)`: a set of the planner, or null if there are none.
#[derive(Clone, Copy)]
pub struct Outer(pg_sys::Relids);

/// A condition of the query on rows of a table.
#[derive(Clone, Copy)]
pub struct Condition {
    pub(super) info: *mut pg_sys::RestrictInfo,
    pub expression: Expression,
}

/// A condition that a column of the table equals a value that does not depend on the table.
#[derive(Clone, Copy)]
pub struct Equality {
    pub comparison: Comparison,
    /// The other relations that the value refers to.
    pub outer: Outer,
    /// The share of rows that fulfil the condition, as the planner estimates it.
    pub share: f64,
}

/// The costs of a path until the first row and until the last row is returned, in the planner's units.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub startup: f64,
    pub total: f64,
}

impl BaseRelation {
    /// The relation for which the planner calls the hook; None if the planner has proved that it has no rows.
    ///
    /// # Safety
    /// PostgreSQL has passed the arguments to its `set_rel_pathlist_hook`, which is running.
    pub unsafe fn new(
        root: *mut pg_sys::PlannerInfo,
        relation: *mut pg_sys::RelOptInfo,
        entry: *const pg_sys::RangeTblEntry,
    ) -> Option<Self> {
        unsafe { (!pg_sys::is_dummy_rel(relation)).then_some(Self { root, relation, entry }) }
    }

    /// Whether this is an ordinary table or a materialized view, without its inheritors and without TABLESAMPLE.
    pub fn is_table(&self) -> bool {
        let entry = self.range_table_entry();
        let kinds = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_MATVIEW];
        let is_table = entry.rtekind == pg_sys::RTEKind::RTE_RELATION && kinds.contains(&(entry.relkind as u8));
        is_table && !entry.inh && entry.tablesample.is_null()
    }

    fn rel_info(&self) -> &pg_sys::RelOptInfo {
        // SAFETY: the relation lives as long as the planner is at work on the query.
        unsafe { &*self.relation }
    }

    pub(super) fn range_table_entry(&self) -> &pg_sys::RangeTblEntry {
        // SAFETY: the query's range table lives as long as the planner is at work on the query.
        unsafe { &*self.entry }
    }

    pub fn planner(&self) -> Planner {
        Planner(self.root)
    }

    pub fn table(&self) -> Oid {
        self.range_table_entry().relid
    }

    /// The table's index in the query's range table.
    pub fn relid(&self) -> i32 {
        self.rel_info().relid as i32
    }

    /// The number of rows of the table, before any condition, as the planner estimates it; at least 1.
    pub fn rows(&self) -> f64 {
        self.rel_info().tuples.max(1.0)
    }

    /// The number of pages of the table; at least 1.
    pub fn pages(&self) -> f64 {
        f64::from(self.rel_info().pages).max(1.0)
    }

    /// The costs of reading a page of the table in random order and in sequence.
    pub fn page_costs(&self) -> (f64, f64) {
        let (mut random, mut sequential) = (0.0, 0.0);
        // SAFETY: the table has this tablespace; the results are written to the two numbers.
        unsafe { pg_sys::get_tablespace_page_costs(self.rel_info().reltablespace, &mut random, &mut sequential) };
        (random, sequential)
    }

    /// The number of pages that a scan reads from disk if it needs `needed` of `pages` pages in random order. A scan
    /// that runs once for each row of `outer` finds some of them in the cache (PostgreSQL's index_pages_fetched).
    pub fn pages_fetched(&self, needed: f64, pages: f64, outer: Outer) -> f64 {
        // SAFETY: the set is valid, or null.
        let relations = unsafe { members(outer.0) }.filter_map(|relid| self.planner().relation(relid));
        // Like PostgreSQL, assume that the scan runs once for each row of the smallest relation.
        let loops = relations.map(|relation| relation.rows).reduce(f64::min).unwrap_or(1.0);
        if loops <= 1.0 {
            return needed;
        }
        // SAFETY: the planner is at work, and knows the size of each table.
        unsafe { pg_sys::index_pages_fetched(needed * loops, pages as u32, pages, self.root) / loops }
    }

    /// The conditions of [`Self::all_conditions`] that may be evaluated first.
    pub fn conditions(&self) -> Vec<Condition> {
        self.all_conditions().into_iter().filter(|condition| self.may_come_first(condition)).collect()
    }

    /// The conditions on rows of the relation alone, then those join conditions that a parameterized path can evaluate.
    pub fn all_conditions(&self) -> Vec<Condition> {
        // SAFETY: both are lists of RestrictInfo nodes.
        unsafe {
            let own = conditions_in(self.rel_info().baserestrictinfo).into_iter();
            let joins = conditions_in(self.rel_info().joininfo).into_iter();
            let joins = joins.filter(|join| pg_sys::join_clause_is_movable_to(join.info, self.relation));
            own.chain(joins).collect()
        }
    }

    /// Whether a condition may be evaluated first, even before conditions that protect rows (row-level security).
    pub fn may_come_first(&self, condition: &Condition) -> bool {
        // SAFETY: the condition is one of the relation.
        unsafe { pg_sys::restriction_is_securely_promotable(condition.info, self.relation) }
    }

    /// The expressions of the table's columns that are equal to the query's first sort key; none unless the order is
    /// ascending, of integers, with NULLs last.
    pub fn forms_of_first_sort_key(&self) -> Vec<Expression> {
        // SAFETY: the planner's lists of path keys and their equivalence classes are valid.
        unsafe {
            let keys = nodes::<pg_sys::PathKey>((*self.root).query_pathkeys);
            let Some(&key) = keys.first() else { return Vec::new() };
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            let is_ascending = (*key).pk_strategy == pg_sys::BTLessStrategyNumber as i32;
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            let is_ascending = (*key).pk_cmptype == pg_sys::CompareType::COMPARE_LT;
            let class = (*key).pk_eclass;
            let is_of_integers = (*key).pk_opfamily == pg_sys::INTEGER_BTREE_FAM_OID;
            if !is_ascending || !is_of_integers || (*key).pk_nulls_first || (*class).ec_has_volatile {
                return Vec::new();
            }
            let relids = self.rel_info().relids;
            // Also members that refer to a partition or inheritor; from PostgreSQL 18 on, only an iterator finds these.
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            let members = nodes((*class).ec_members).into_iter();
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            let members = {
                let mut iterator = pg_sys::EquivalenceMemberIterator::default();
                pg_sys::setup_eclass_member_iterator(&mut iterator, class, relids);
                let next = move || pg_sys::eclass_member_iterator_next(&mut iterator);
                std::iter::repeat_with(next).take_while(|member| !member.is_null())
            };
            let is_own = |member: &*mut pg_sys::EquivalenceMember| pg_sys::bms_equal((**member).em_relids, relids);
            members.filter(is_own).filter_map(|member| Expression::new((*member).em_expr)).collect()
        }
    }

    /// Whether an expression of the query may be evaluated for rows that row-level security, or a view with
    /// security_barrier, hides: no rows are hidden, or the expression is leakproof.
    pub fn may_see_hidden_rows(&self, expression: Expression) -> bool {
        // SAFETY: the planner and the expression are valid.
        unsafe {
            (*self.root).qual_security_level <= self.rel_info().baserestrict_min_security
                || !pg_sys::contain_leaked_vars(expression.as_ptr())
        }
    }

    /// The indexes of the table that the query can use: they have all rows that fulfil its conditions. `may_serve` gets
    /// the types of an index's keys, and whether other columns are included. If it returns false, the index is left
    /// out, and need not be opened, which takes time in each partition.
    pub fn indexes(&self, may_serve: impl Fn(&[Oid], bool) -> bool) -> Vec<Oid> {
        let may_serve = |index: &&IndexOptInfo| {
            // SAFETY: an index has a type for each key.
            let keys = unsafe { std::slice::from_raw_parts(index.opcintype, index.nkeycolumns as usize) };
            may_serve(keys, index.ncolumns > index.nkeycolumns)
        };
        let is_usable = |index: &&IndexOptInfo| !index.hypothetical && (index.indpred.is_null() || index.predOK);
        self.index_infos().filter(may_serve).filter(is_usable).map(|index| index.indexoid).collect()
    }

    /// The expressions among the keys of the table's indexes.
    pub fn index_expressions(&self) -> Vec<Expression> {
        // SAFETY: an index has a list of expressions, or null.
        self.index_infos().flat_map(|index| unsafe { expressions(index.indexprs) }).collect()
    }

    /// The number of pages of an index; None if the table does not have this index.
    pub fn index_pages(&self, index: Oid) -> Option<f64> {
        self.index_infos().find(|info| info.indexoid == index).map(|info| f64::from(info.pages))
    }

    /// The equalities of a column among [`Self::conditions`], and those that other equalities imply.
    pub fn equalities(&self, column: i16) -> Vec<Equality> {
        let is_column = |side: Expression| self.owns(side) && side.as_own_column() == Some(column);
        let read_equality = |condition: Condition| {
            let comparison = Comparison::read(condition.expression, is_column)?;
            let outer = self.outer([comparison.value])?;
            Some(Equality { comparison, outer, share: self.share(&condition) })
        };
        self.conditions().into_iter().chain(self.implied_conditions(column)).filter_map(read_equality).collect()
    }

    /// The join conditions on a column that follow from several equalities. [`Self::conditions`] does not have them.
    fn implied_conditions(&self, mut column: i16) -> Vec<Condition> {
        if !self.rel_info().has_eclass_joins {
            return Vec::new();
        }
        // SAFETY: the planner is at work on this relation. `is_member_column` gets a pointer to the attnum.
        unsafe {
            let implied = pg_sys::generate_implied_equalities_for_column(
                self.root,
                self.relation,
                Some(is_member_column),
                (&raw mut column).cast(),
                self.rel_info().lateral_referencers,
            );
            let mut implied = conditions_in(implied);
            implied.retain(|condition| self.may_come_first(condition));
            implied
        }
    }

    /// The share of rows that fulfil a condition, as the planner estimates it for a row of each other relation.
    pub(super) fn share(&self, condition: &Condition) -> f64 {
        let (inner, no_join) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
        // SAFETY: the planner is at work on this relation, and the condition is one of the relation.
        unsafe { pg_sys::clause_selectivity(self.root, condition.info.cast(), self.relid(), inner, no_join) }
    }

    /// Whether an index can look up the value of an equality in the key at this position, from 0.
    pub fn can_look_up(&self, index: Oid, position: usize, equality: &Equality) -> bool {
        let Comparison { operator, collation, .. } = equality.comparison;
        let has_key = |info: &&IndexOptInfo| info.indexoid == index && position < info.nkeycolumns as usize;
        // SAFETY: an index has an operator family and a collation for each key.
        self.index_infos().find(has_key).is_some_and(|index| unsafe {
            let (family, key_collation) = (*index.opfamily.add(position), *index.indexcollations.add(position));
            (key_collation == Oid::INVALID || key_collation == collation)
                && btree_strategy(operator, family) == Some(pg_sys::BTEqualStrategyNumber)
        })
    }

    /// Whether another extension, such as pg_plan_advice, has chosen how this table is scanned.
    #[cfg(feature = "pg19")]
    pub fn has_chosen_scan(&self) -> bool {
        // SAFETY: the planner is at work on this relation.
        let default_mask = unsafe { (*(*self.root).glob).default_pgs_mask };
        let allowed_scans = self.rel_info().pgs_mask & u64::from(pg_sys::PGS_SCAN_ANY);
        // Settings of the planner, such as enable_seqscan, change the default.
        allowed_scans != default_mask & u64::from(pg_sys::PGS_SCAN_ANY) && allowed_scans.count_ones() <= 1
    }

    fn index_infos(&self) -> impl Iterator<Item = &IndexOptInfo> {
        // SAFETY: the list has valid IndexOptInfo nodes, which live as long as the relation.
        unsafe { nodes(self.rel_info().indexlist).into_iter().map(|index: *mut IndexOptInfo| &*index) }
    }

    /// Whether an expression refers to columns of this table, and to no other relation.
    pub fn owns(&self, expression: Expression) -> bool {
        // SAFETY: the planner and the expression are valid.
        unsafe { pg_sys::bms_equal(pg_sys::pull_varnos(self.root, expression.as_ptr()), self.rel_info().relids) }
    }

    /// The relations that expressions (and LATERAL) refer to; None if they refer to this one too, or if one is
    /// volatile.
    pub fn outer(&self, expressions: impl IntoIterator<Item = Expression>) -> Option<Outer> {
        // SAFETY: the planner and the expressions are valid. The set is a copy, which nothing else refers to.
        unsafe {
            let mut relations = pg_sys::bms_copy(self.rel_info().lateral_relids);
            for expression in expressions {
                if expression.is_volatile() {
                    return None;
                }
                relations = pg_sys::bms_add_members(relations, pg_sys::pull_varnos(self.root, expression.as_ptr()));
            }
            (!pg_sys::bms_is_member(self.relid(), relations)).then_some(Outer(relations))
        }
    }

    /// The cost of evaluating all conditions of a path whose parameters come from `outer`.
    pub fn condition_cost(&self, outer: Outer) -> pg_sys::QualCost {
        let mut cost = pg_sys::QualCost::default();
        // SAFETY: the planner is at work on this relation, and the list is one of valid conditions, or null.
        unsafe {
            let clauses = self.parameters(outer).as_ref().map_or(std::ptr::null_mut(), |known| known.ppi_clauses);
            pg_sys::cost_qual_eval(&mut cost, clauses, self.root);
        }
        cost.startup += self.rel_info().baserestrictcost.startup;
        cost.per_tuple += self.rel_info().baserestrictcost.per_tuple;
        cost
    }

    /// The planner's information on paths whose parameters come from `outer`; null if `outer` is empty.
    fn parameters(&self, outer: Outer) -> *mut pg_sys::ParamPathInfo {
        // An empty set must be null.
        let outer = if outer.is_empty() { std::ptr::null_mut() } else { outer.0 };
        // SAFETY: the planner is at work on this relation.
        unsafe { pg_sys::get_baserel_parampathinfo(self.root, self.relation, outer) }
    }

    /// Whether a scan with this cost is of one member of a family, and costs less than starting a parallel worker. Such
    /// a scan must not be parallel safe: PostgreSQL would distribute the scans of many members to workers. With its own
    /// index scans it does not, because it also has parallel ones, which it expects to cost no less.
    fn is_cheaper_than_worker(&self, cost: f64) -> bool {
        let is_member = self.rel_info().reloptkind == pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL;
        // SAFETY: the setting is a plain number.
        is_member && cost < unsafe { pg_sys::parallel_setup_cost }
    }

    /// Offers a custom path to the planner. Its parameters come from `outer`. `is_ordered` says whether it has the
    /// order of the query's first sort key.
    ///
    /// # Safety
    /// `methods` makes a plan from the list `private`. The plan evaluates the list `expressions`, and the relation's
    /// conditions.
    pub unsafe fn offer(
        &self,
        outer: Outer,
        is_ordered: bool,
        Costs { startup, total }: Costs,
        expressions: *mut pg_sys::List,
        private: *mut pg_sys::List,
        methods: &'static pg_sys::CustomPathMethods,
    ) {
        // SAFETY: the new node is all zeros, which is valid in each of its fields, with the tag of its type.
        unsafe {
            let custom = &mut *pg_sys::palloc0(size_of::<pg_sys::CustomPath>()).cast::<pg_sys::CustomPath>();
            custom.flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
            custom.custom_private = private;
            custom.methods = methods;
            let path = &mut custom.path;
            path.type_ = pg_sys::NodeTag::T_CustomPath;
            path.pathtype = pg_sys::NodeTag::T_CustomScan;
            path.parent = self.relation;
            path.pathtarget = self.rel_info().reltarget;
            path.param_info = self.parameters(outer);
            let parameters = path.param_info.as_ref();
            // The planner has checked the relation's conditions, and not the query's order or a join. No worker has the
            // parameters of an outer query.
            path.parallel_safe = self.rel_info().consider_parallel
                && (parameters.is_some() || !self.is_cheaper_than_worker(total))
                && pg_sys::is_parallel_safe(self.root, expressions.cast());
            path.rows = parameters.map_or(self.rel_info().rows, |parameters| parameters.ppi_rows);
            path.startup_cost = startup;
            path.total_cost = total;
            if is_ordered {
                path.pathkeys = pg_sys::list_copy_head((*self.root).query_pathkeys, 1);
            }
            pg_sys::add_path(self.relation, (&raw mut *custom).cast());
        }
    }
}

impl Equality {
    /// The function of the operator, the type of its right operand, and the collation: what a scan key needs.
    pub fn key(&self) -> (Oid, Oid, Oid) {
        let Comparison { operator, collation, .. } = self.comparison;
        let (mut left, mut right) = (Oid::INVALID, Oid::INVALID);
        // SAFETY: both functions look up a system cache.
        let function = unsafe {
            pg_sys::op_input_types(operator, &mut left, &mut right);
            pg_sys::get_opcode(operator)
        };
        (function, right, collation)
    }
}

impl Outer {
    pub const NONE: Self = Self(std::ptr::null_mut());

    pub fn is_empty(self) -> bool {
        // SAFETY: the set is valid, or null.
        unsafe { pg_sys::bms_next_member(self.0, -1) < 0 }
    }

    pub fn is_within(self, others: Self) -> bool {
        // SAFETY: both sets are valid, or null.
        unsafe { pg_sys::bms_is_subset(self.0, others.0) }
    }

    pub fn with(self, others: Self) -> Self {
        // SAFETY: both sets are valid, or null; the result is a new set.
        Self(unsafe { pg_sys::bms_union(self.0, others.0) })
    }
}

/// Whether a member of an equivalence class is a column of the relation. `column` points to the attnum of the column.
unsafe extern "C-unwind" fn is_member_column(
    _root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    _class: *mut pg_sys::EquivalenceClass,
    member: *mut pg_sys::EquivalenceMember,
    column: *mut std::ffi::c_void,
) -> bool {
    // SAFETY: the planner passes a relation, a valid member and the pointer that it was given, to an attnum.
    unsafe {
        let (relid, column) = ((*relation).relid as i32, *column.cast::<i16>());
        let variable = Expression::new((*member).em_expr).and_then(|value| value.without_relabelling().column());
        variable.is_some_and(|variable| (variable.varno, variable.varattno, variable.varlevelsup) == (relid, column, 0))
    }
}

/// The elements of a list of RestrictInfo nodes.
///
/// # Safety
/// `infos` is such a list of the running planner, or null.
pub(super) unsafe fn conditions_in(infos: *mut pg_sys::List) -> Vec<Condition> {
    unsafe {
        let infos = nodes::<pg_sys::RestrictInfo>(infos).into_iter();
        infos.filter_map(|info| Some(Condition { info, expression: Expression::new((*info).clause)? })).collect()
    }
}
