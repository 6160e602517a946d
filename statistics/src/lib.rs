//! Statistics of agreement, ranking and paired outcomes, with clustered resampling.
//!
//! What the analysis of partial-credit scores needs (SPEC §10; G §3.4 and §4, where G is the paper on grounded checklist
//! partial credit): scores against official outcomes, against people, and against one another. Every function is pure;
//! nothing here knows a log, a checklist or a file.
//!
//! **Numbers.** Scores, ratings and thresholds are [`Ratio`]s, so that ties, orders and thresholds are decided exactly.
//! A statistic that is a ratio of counts is returned as one; others are doubles, computed from integer sums with the four
//! operations and the square root alone. So a result does not depend on the machine, on the order of the observations
//! (resamples apart, which are drawn by the clusters' order of names), or on the number of threads.
//!
//! **Undefined.** A statistic that is undefined for its input (an AUC without failed logs, a correlation with a constant)
//! is `None`; nothing returns a NaN or an infinity. What can be refused is refused by a typed error.
//!
//! | question | functions |
//! |---|---|
//! | do scores tell passed from failed? | [`auc()`], [`paired_auc`], [`separation`], [`discrimination()`], [`paired_discrimination`], [`discrimination_by`], [`macro_auc`] |
//! | how sure is that? | [`Bootstrap`] over [`Clusters`], [`Proportion`] |
//! | do scores agree with people? | [`spearman`], [`kendall_tau_b`], [`pearson`], [`preference_counts`] |
//! | do raters, or passes of a judge, agree? | [`alpha_nominal`], [`alpha_ordinal`], [`alpha_interval`], [`cohen_kappa`], [`fleiss_kappa`], [`raw_agreement`] |
//! | what changed between two runs? | [`transition_table`], [`win_tie_loss`], [`summarize_differences`], [`sign_test`], [`wilcoxon`], [`mcnemar`] |
//! | how are values spread? | [`distribution`], [`quantile`], [`histogram()`], [`macro_mean`] |

pub mod agreement;
pub mod auc;
mod binomial;
pub mod bootstrap;
pub mod clusters;
pub mod correlation;
pub mod differences;
pub mod discrimination;
pub mod exact;
pub mod histogram;
pub mod krippendorff;
pub mod matched;
pub mod normal;
pub mod paired;
pub mod preference;
pub mod proportion;
pub mod quantiles;
pub mod random;
pub mod ranks;
mod scaled;

pub use agreement::{FleissError, Weights, cohen_kappa, fleiss_kappa, raw_agreement};
pub use auc::{
    ClusteredAuc, ClusteredPairedAuc, ClusteredSeparation, PairedAuc, PairedScored, Scored, Separation, auc,
    paired_auc, separation,
};
pub use bootstrap::{Bootstrap, BootstrapError, BootstrapPlan, Resampled};
pub use clusters::Clusters;
pub use correlation::{kendall_tau_b, pearson, spearman};
pub use differences::{
    DifferenceSummary, MATERIAL_CHANGE, NOISE_FLOOR, SameTaskPair, Shares, WinTieLoss, shares, summarize_differences,
    win_tie_loss,
};
pub use discrimination::{
    Discrimination, MacroMean, PairedDiscrimination, discrimination, discrimination_by, macro_auc, macro_mean,
    over_tasks, paired_discrimination,
};
pub use exact::{ExactError, Ratio};
pub use histogram::{Histogram, HistogramError, histogram};
pub use krippendorff::{Alpha, alpha_interval, alpha_nominal, alpha_ordinal};
pub use matched::{MatchedPair, MatchedRun, Transition, TransitionRow, TransitionTable, transition_table};
pub use paired::{Method, SignTest, WilcoxonTest, mcnemar, sign_test, sign_test_of_counts, wilcoxon, wilcoxon_by};
pub use preference::{Preference, PreferenceCounts, Preferred, TieRule, majority, preference_counts};
pub use proportion::Proportion;
pub use quantiles::{Distribution, distribution, mean, median, quantile};
