//! The contract, clause by clause, as tests.
