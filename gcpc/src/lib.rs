//! Grounded Checklist Partial Credit: checklists, gates, judging, metrics.
