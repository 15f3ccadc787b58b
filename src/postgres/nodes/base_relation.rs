//! A table of a query, while the planner collects the ways to scan it.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Oid};

use super::expression::{Expression, list};

/// A table that the planner plans to scan.
#[derive(Clone, Copy)]
pub struct BaseRelation {
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    table: Oid,
}

/// The relations of a query that an expression needs besides the scanned one; a set of the planner, perhaps null.
#[derive(Clone, Copy)]
pub struct Outer(pg_sys::Relids);

/// An order that the query needs first of all.
#[derive(Clone, Copy)]
pub struct Order {
    key: *mut pg_sys::PathKey,
    /// An expression of the table's columns that has this order.
    pub expression: Expression,
}

/// An index that the planner would use in this query.
#[derive(Clone, Copy)]
pub struct UsableIndex {
    pub oid: Oid,
    pub pages: f64,
}

/// A condition that a column of the table equals a value, which does not depend on the table.
#[derive(Clone, Copy)]
pub struct Equality {
    pub value: Expression,
    /// The function of the operator, which belongs to the index's operator family, and the type of its right operand.
    pub function: Oid,
    pub right_type: Oid,
    pub collation: Oid,
    /// The share of rows that fulfil the condition, as the planner estimates it.
    pub share: f64,
}

/// What a way to scan the table costs, in the planner's units.
#[derive(Clone, Copy)]
pub struct PathCost {
    pub startup: f64,
    pub total: f64,
}

impl BaseRelation {
    /// The table of `relation`; None unless it is an ordinary table or a materialized view that is scanned by itself
    /// and completely.
    ///
    /// # Safety
    /// The arguments are those of the planner's `set_rel_pathlist_hook`, while it runs.
    pub unsafe fn new(
        root: *mut pg_sys::PlannerInfo,
        relation: *mut pg_sys::RelOptInfo,
        entry: *const pg_sys::RangeTblEntry,
    ) -> Option<Self> {
        // SAFETY: the caller passes valid nodes.
        unsafe {
            let (entry, found) = (&*entry, &*relation);
            let kinds = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_MATVIEW];
            let is_scanned = found.reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
                || found.reloptkind == pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL;
            let is_table = entry.rtekind == pg_sys::RTEKind::RTE_RELATION && kinds.contains(&(entry.relkind as u8));
            let is_whole = !entry.inh && entry.tablesample.is_null();
            let is_wanted = is_scanned && is_table && is_whole && !pg_sys::is_dummy_rel(relation);
            is_wanted.then_some(Self { root, relation, table: entry.relid })
        }
    }

    /// The scanned relation, given to the function that makes a plan of a path.
    ///
    /// # Safety
    /// The arguments are those of `PlanCustomPath`, while it runs.
    pub unsafe fn of_path(root: *mut pg_sys::PlannerInfo, relation: *mut pg_sys::RelOptInfo) -> Self {
        // SAFETY: the caller passes the planner at work, which has an entry for each relation that it scans.
        let table = unsafe { (**(*root).simple_rte_array.add((*relation).relid as usize)).relid };
        Self { root, relation, table }
    }

    fn found(&self) -> &pg_sys::RelOptInfo {
        // SAFETY: the planner keeps the relation while it plans.
        unsafe { &*self.relation }
    }

    pub fn table(&self) -> Oid {
        self.table
    }

    /// The table's number in the query's range table.
    pub fn number(&self) -> i32 {
        self.found().relid as i32
    }

    /// The planner's estimate of the number of rows in the table.
    pub fn rows(&self) -> f64 {
        self.found().tuples.max(1.0)
    }

    /// The number of pages of the table.
    pub fn pages(&self) -> f64 {
        f64::from(self.found().pages).max(1.0)
    }

    /// The share of the pages whose rows are visible to every transaction.
    pub fn visible_share(&self) -> f64 {
        self.found().allvisfrac
    }

    /// The costs of reading a page in random order and in sequence.
    pub fn page_costs(&self) -> (f64, f64) {
        let (mut random, mut sequential) = (0.0, 0.0);
        // SAFETY: the tablespace is that of the table; the results are written to the two numbers.
        unsafe { pg_sys::get_tablespace_page_costs(self.found().reltablespace, &mut random, &mut sequential) };
        (random, sequential)
    }

    /// The conditions on rows of the table alone, then those that rows of other tables take part in, and that may be
    /// evaluated before others that protect the table's rows (as row-level security does).
    pub fn conditions(&self) -> Vec<Expression> {
        // SAFETY: both are lists of RestrictInfo nodes, whose clauses are valid expressions.
        unsafe {
            let own = list(self.found().baserestrictinfo).into_iter();
            let joins = list(self.found().joininfo).into_iter();
            let joins = joins.filter(|join| pg_sys::join_clause_is_movable_to(join.as_ptr().cast(), self.relation));
            own.chain(joins)
                .filter(|info| pg_sys::restriction_is_securely_promotable(info.as_ptr().cast(), self.relation))
                .filter_map(|info| Expression::new((*info.as_ptr().cast::<pg_sys::RestrictInfo>()).clause))
                .collect()
        }
    }

    /// The first order that the query needs, if it is that of ascending integers with NULLs last, and if there are
    /// expressions of the table's columns that have it.
    pub fn orders(&self) -> Vec<Order> {
        // SAFETY: the planner's lists of path keys and their equivalence classes are valid.
        unsafe {
            let keys = (*self.root).query_pathkeys;
            if keys.is_null() {
                return Vec::new();
            }
            let key = pg_sys::list_nth(keys, 0).cast::<pg_sys::PathKey>();
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            let is_ascending = (*key).pk_strategy == pg_sys::BTLessStrategyNumber as i32;
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            let is_ascending = (*key).pk_cmptype == pg_sys::CompareType::COMPARE_LT;
            let class = (*key).pk_eclass;
            let is_of_integers = (*key).pk_opfamily == pg_sys::INTEGER_BTREE_FAM_OID;
            if !is_ascending || !is_of_integers || (*key).pk_nulls_first || (*class).ec_has_volatile {
                return Vec::new();
            }
            let is_own =
                |member: &*mut pg_sys::EquivalenceMember| pg_sys::bms_equal((**member).em_relids, self.found().relids);
            let members = members(class, self.found().relids).into_iter().filter(is_own);
            members.filter_map(|member| Some(Order { key, expression: Expression::new((*member).em_expr)? })).collect()
        }
    }

    /// Whether an expression of the query may be evaluated for rows that row-level security, or a view with
    /// security_barrier, hides: if nothing hides rows, or if the expression cannot reveal what it is given.
    pub fn may_see_hidden_rows(&self, expression: Expression) -> bool {
        // SAFETY: the planner and the expression are valid.
        unsafe {
            (*self.root).qual_security_level <= self.found().baserestrict_min_security
                || !pg_sys::contain_leaked_vars(expression.as_ptr())
        }
    }

    /// The indexes of the table that have all rows that the query can find.
    pub fn indexes(&self) -> Vec<UsableIndex> {
        // SAFETY: the list has valid IndexOptInfo nodes.
        unsafe {
            let indexes = list(self.found().indexlist).into_iter();
            let indexes = indexes.map(|index| &*index.as_ptr().cast::<pg_sys::IndexOptInfo>());
            let usable = indexes.filter(|index| !index.hypothetical && (index.indpred.is_null() || index.predOK));
            usable.map(|index| UsableIndex { oid: index.indexoid, pages: f64::from(index.pages) }).collect()
        }
    }

    /// A condition that lets an index look up one value of its key at this place, from 0, which is this column; None if
    /// the query has no such condition.
    pub fn equality(&self, index: Oid, place: usize, column: i16) -> Option<Equality> {
        // SAFETY: the lists have valid IndexOptInfo and RestrictInfo nodes. An index has an operator family and a
        // collation for each key.
        unsafe {
            let indexes = list(self.found().indexlist).into_iter();
            let mut indexes = indexes.map(|index| &*index.as_ptr().cast::<pg_sys::IndexOptInfo>());
            let index = indexes.find(|found| found.indexoid == index && place < found.nkeycolumns as usize)?;
            let (family, collation) = (*index.opfamily.add(place), *index.indexcollations.add(place));
            list(self.found().baserestrictinfo).into_iter().find_map(|info| {
                let info = info.as_ptr().cast::<pg_sys::RestrictInfo>();
                let condition = Expression::new((*info).clause)?;
                let (operator, _, [left, right]) = condition.operation()?;
                let is_key = |side: Expression| self.owns(side) && side.as_own_column() == Some(column);
                let (operator, value) = match (is_key(left), is_key(right)) {
                    (true, false) => (operator, right),
                    (false, true) => (pg_sys::get_commutator(operator), left),
                    _ => return None,
                };
                let is_equality = operator != Oid::INVALID
                    && pg_sys::get_op_opfamily_strategy(operator, family) == pg_sys::BTEqualStrategyNumber as i32;
                let same_collation = collation == Oid::INVALID || condition.input_collation() == Some(collation);
                let is_known = self.outer([value]).is_some_and(Outer::is_empty);
                if !is_equality
                    || !same_collation
                    || !is_known
                    || !pg_sys::restriction_is_securely_promotable(info, self.relation)
                {
                    return None;
                }
                let (mut left_type, mut right_type) = (Oid::INVALID, Oid::INVALID);
                pg_sys::op_input_types(operator, &mut left_type, &mut right_type);
                let (inner, no_join) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
                let share = pg_sys::clause_selectivity(self.root, info.cast(), 0, inner, no_join);
                let function = pg_sys::get_opcode(operator);
                Some(Equality { value, function, right_type, collation, share })
            })
        }
    }

    /// Whether an expression refers to columns of this table, and of no other.
    pub fn owns(&self, expression: Expression) -> bool {
        // SAFETY: the planner and the expression are valid.
        unsafe {
            let relations = pg_sys::pull_varnos(self.root, expression.as_ptr());
            pg_sys::bms_equal(relations, self.found().relids)
        }
    }

    /// The relations that expressions need besides this one; None if they need this one too, or may change with every
    /// evaluation.
    pub fn outer(&self, expressions: impl IntoIterator<Item = Expression>) -> Option<Outer> {
        // SAFETY: the planner and the expressions are valid. Sets are the planner's, and are not changed elsewhere.
        unsafe {
            let mut relations = pg_sys::bms_copy(self.found().lateral_relids);
            for expression in expressions {
                if expression.is_volatile() {
                    return None;
                }
                relations = pg_sys::bms_add_members(relations, pg_sys::pull_varnos(self.root, expression.as_ptr()));
            }
            (!pg_sys::bms_is_member(self.number(), relations)).then_some(Outer(relations))
        }
    }

    /// Whether the query needs nothing of this table but a column, in a scan that is given rows of `outer`.
    pub fn needs_only(&self, column: i16, outer: Outer) -> bool {
        let number = self.found().relid;
        let mut needed = std::ptr::null_mut();
        // SAFETY: the planner's lists of expressions and RestrictInfo nodes are valid; the set is made here.
        unsafe {
            pg_sys::pull_varattnos((*self.found().reltarget).exprs.cast(), number, &mut needed);
            let parameters = self.parameters(outer);
            let joins = if parameters.is_null() { std::ptr::null_mut() } else { (*parameters).ppi_clauses };
            for info in list(self.found().baserestrictinfo).into_iter().chain(list(joins)) {
                let clause = (*info.as_ptr().cast::<pg_sys::RestrictInfo>()).clause;
                pg_sys::pull_varattnos(clause.cast(), number, &mut needed);
            }
            let member = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
            pg_sys::bms_is_subset(needed, pg_sys::bms_make_singleton(member))
        }
    }

    fn parameters(&self, outer: Outer) -> *mut pg_sys::ParamPathInfo {
        // SAFETY: the planner is at work on this relation; an empty set must be null.
        unsafe {
            let outer = if outer.is_empty() { std::ptr::null_mut() } else { outer.0 };
            pg_sys::get_baserel_parampathinfo(self.root, self.relation, outer)
        }
    }

    /// The cost of the conditions: before the first row, and for each row.
    pub fn condition_costs(&self) -> (f64, f64) {
        let cost = self.found().baserestrictcost;
        (cost.startup, cost.per_tuple)
    }

    /// Offers a way to scan the table to the planner.
    ///
    /// # Safety
    /// `private` is a list of lists of nodes, integers or OIDs, and `methods` makes a plan of it.
    pub unsafe fn offer(
        &self,
        outer: Outer,
        order: Option<Order>,
        cost: PathCost,
        private: *mut pg_sys::List,
        methods: &'static pg_sys::CustomPathMethods,
    ) {
        // SAFETY: the new node is all zeros, which is valid in each of its fields, with the tag of its type.
        unsafe {
            let path = pg_sys::palloc0(size_of::<pg_sys::CustomPath>()).cast::<pg_sys::CustomPath>();
            (*path).path.type_ = pg_sys::NodeTag::T_CustomPath;
            (*path).path.pathtype = pg_sys::NodeTag::T_CustomScan;
            (*path).path.parent = self.relation;
            (*path).path.pathtarget = self.found().reltarget;
            (*path).path.param_info = self.parameters(outer);
            (*path).path.parallel_safe = self.found().consider_parallel;
            (*path).path.rows =
                (*path).path.param_info.as_ref().map_or(self.found().rows, |parameters| parameters.ppi_rows);
            (*path).path.startup_cost = cost.startup;
            (*path).path.total_cost = cost.total;
            if let Some(order) = order {
                (*path).path.pathkeys = pg_sys::lappend(std::ptr::null_mut(), order.key.cast());
            }
            (*path).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
            (*path).custom_private = private;
            (*path).methods = methods;
            pg_sys::add_path(self.relation, path.cast());
        }
    }
}

impl Equality {
    /// Whether both look up the same values in the same order.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.function, self.right_type, self.collation) == (other.function, other.right_type, other.collation)
            && self.value.equals(other.value)
    }
}

impl PathCost {
    /// Compares costs of ways that return the same rows, of which perhaps not all are wanted.
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.startup + self.total).total_cmp(&(other.startup + other.total))
    }
}

impl Outer {
    pub fn is_empty(self) -> bool {
        // SAFETY: the set is valid, or null.
        unsafe { pg_sys::bms_next_member(self.0, -1) < 0 }
    }
}

/// The members of an equivalence class, with those that stand for members of a table's family.
///
/// # Safety
/// The class and the set are valid.
unsafe fn members(class: *mut pg_sys::EquivalenceClass, relids: pg_sys::Relids) -> Vec<*mut pg_sys::EquivalenceMember> {
    // SAFETY: the caller passes a valid class and a valid set.
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    unsafe {
        let _ = relids;
        list((*class).ec_members).into_iter().map(|member| member.as_ptr().cast()).collect()
    }
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: the caller passes a valid class and a valid set.
    unsafe {
        let mut iterator = pg_sys::EquivalenceMemberIterator::default();
        pg_sys::setup_eclass_member_iterator(&mut iterator, class, relids);
        std::iter::from_fn(|| {
            let member = pg_sys::eclass_member_iterator_next(&mut iterator);
            (!member.is_null()).then_some(member)
        })
        .collect()
    }
}
