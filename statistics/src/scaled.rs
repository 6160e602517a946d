//! Ratios on one integer scale, so that sums of values, squares and products are integers and order does not matter.

use crate::exact::{Ratio, gcd};

/// `values[i] = offset + units[i] · step`.
#[derive(Debug, Clone)]
pub(crate) struct Scaled {
    pub(crate) units: Vec<i128>,
    /// The scale: units in 1, exactly; or a power of two by which nearest doubles were multiplied and rounded.
    scale: Scale,
}

#[derive(Debug, Clone, Copy)]
enum Scale {
    Denominator(i128),
    PowerOfTwo(i32),
}

impl Scaled {
    /// A scale on which the sum of all values fits 128 bits.
    pub(crate) fn for_sums(values: &[Ratio]) -> Scaled {
        Scaled::for_resampled_sums(values, values.len())
    }

    /// A scale on which a sum of up to `terms` values, each as often as it is drawn, fits 128 bits.
    pub(crate) fn for_resampled_sums(values: &[Ratio], terms: usize) -> Scaled {
        Scaled::within(values, 126 - bits(terms.max(values.len())))
    }

    /// The values above the least one, on a scale on which n·Σxy of any two such columns fits 128 bits with a sign
    /// and a factor of two. Exact for the values of checklists and ratings; finer ones are rounded to their greatest
    /// spread times 2^−k, with k = 62 − ⌈log2 n⌉ at most 62.
    pub(crate) fn for_products(values: &[Ratio]) -> Scaled {
        let least = values.iter().min().copied().unwrap_or(Ratio::ZERO);
        let above: Vec<Ratio> = values.iter().map(|value| value.difference(least)).collect();
        Scaled::within(&above, 62_u32.saturating_sub(bits(values.len())).max(24))
    }

    /// The common scale if it keeps every unit within 2^`room`; else the finest power of two that does.
    fn within(values: &[Ratio], room: u32) -> Scaled {
        let limit = 1_i128 << room.min(126);
        if let Some((denominator, units)) = common_scale(values, limit) {
            return Scaled { units, scale: Scale::Denominator(denominator) };
        }
        let largest = values.iter().map(|value| value.to_f64().abs()).fold(0.0, f64::max);
        // largest < 2^(exponent + 1), so largest·2^power < 2^room; a double has no more than 53 bits to keep.
        let exponent = ((largest.to_bits() >> 52) & 0x7FF) as i32 - 1023;
        let power = room.min(60) as i32 - exponent - 1;
        let round = |value: &Ratio| (value.to_f64() * power_of_two(power)).round() as i128;
        Scaled { units: values.iter().map(round).collect(), scale: Scale::PowerOfTwo(power) }
    }

    /// `sum / n` back on the values' own scale; `None` where `n` is 0.
    pub(crate) fn mean(&self, sum: i128, n: usize) -> Option<f64> {
        if n == 0 {
            return None;
        }
        let count = n as i128;
        Some(match self.scale {
            Scale::Denominator(denominator) => {
                let whole = denominator.checked_mul(count).and_then(|below| Ratio::new(sum, below).ok());
                whole.map_or_else(|| sum as f64 / denominator as f64 / n as f64, Ratio::to_f64)
            }
            Scale::PowerOfTwo(power) => sum as f64 / n as f64 * power_of_two(-power),
        })
    }
}

/// ⌈log2(count + 1)⌉, so that `count < 2^bits`.
fn bits(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

/// 2^`power`, exactly, for powers of normal doubles.
pub(crate) fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((power.clamp(-1022, 1023) + 1023) as u64) << 52)
}

fn common_scale(values: &[Ratio], limit: i128) -> Option<(i128, Vec<i128>)> {
    let mut common = 1_i128;
    for value in values {
        if common % value.denominator() != 0 {
            let divisor = gcd(common.unsigned_abs(), value.denominator().unsigned_abs()) as i128;
            common = common.checked_mul(value.denominator() / divisor)?;
        }
    }
    let unit = |value: &Ratio| {
        let unit = value.numerator().checked_mul(common / value.denominator())?;
        (unit.abs() < limit).then_some(unit)
    };
    Some((common, values.iter().map(unit).collect::<Option<Vec<i128>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checklist_scores_are_exact() {
        let values: Vec<Ratio> = ["1/4", "1/3", "2/5"].iter().map(|text| text.parse().unwrap()).collect();
        let scaled = Scaled::for_sums(&values);
        assert_eq!(scaled.units, [15, 20, 24]);
        assert_eq!(scaled.mean(59, 3), Some(59.0 / 180.0));
        assert_eq!(Scaled::for_products(&values).units, [0, 5, 9]);
    }

    #[test]
    fn what_has_no_common_scale_is_rounded_within_its_room() {
        let primes = [1_000_003, 999_983, 999_979, 999_961, 999_959, 999_953, 999_931, 999_917];
        let values: Vec<Ratio> = primes.iter().map(|prime| Ratio::new(1_000, *prime).unwrap()).collect();
        let scaled = Scaled::for_sums(&values);
        assert!(matches!(scaled.scale, Scale::PowerOfTwo(_)));
        let sum: f64 = values.iter().map(|value| value.to_f64()).sum();
        let mean = scaled.mean(scaled.units.iter().sum(), values.len()).unwrap();
        assert!((mean - sum / 8.0).abs() < 1e-15);
        let largest = *scaled.units.iter().max().unwrap();
        assert!((1 << 58..1 << 60).contains(&largest), "{largest}");
    }
}
