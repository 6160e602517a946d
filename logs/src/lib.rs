//! Logs of agents from many harnesses as one type.
