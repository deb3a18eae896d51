//! Statistics of a case's samples.

/// The times of one call, in seconds, one for each sample; at least one, in increasing order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// `None` without samples.
    pub(crate) fn new(mut seconds: Vec<f64>) -> Option<Samples> {
        seconds.sort_by(f64::total_cmp);
        (!seconds.is_empty()).then_some(Samples(seconds))
    }

    /// The sample in the middle, or what lies between the two there.
    pub(crate) fn median(&self) -> f64 {
        let Samples(seconds) = self;
        let middle = seconds.len() / 2;
        match seconds.len() % 2 {
            0 => f64::midpoint(seconds[middle - 1], seconds[middle]),
            _ => seconds[middle],
        }
    }

    /// The range of the middle half of the samples, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        let Samples(seconds) = self;
        let quarter = |quarters: usize| seconds[quarters * seconds.len() / 4];
        (quarter(3) - quarter(1)) / self.median()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[f64]) -> (f64, f64) {
        let samples = Samples::new(seconds.to_vec()).expect("there are some");
        (samples.median(), samples.spread())
    }

    #[test]
    fn the_median_does_not_depend_on_the_order_nor_on_outliers() {
        assert_eq!(of(&[4.0, 1.0, 2.0, 100.0, 3.0]).0, 3.0);
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]).0, 2.5);
        assert_eq!(of(&[7.0]), (7.0, 0.0));
    }

    #[test]
    fn the_spread_is_that_of_the_middle_half_by_the_median() {
        let seconds: Vec<f64> = (1..=8).map(f64::from).collect();
        assert_eq!(of(&seconds), (4.5, 4.0 / 4.5));
        assert_eq!(of(&[1.0, 2.0]), (1.5, 1.0 / 1.5));
        assert_eq!(of(&[2.0; 9]), (2.0, 0.0));
    }

    #[test]
    fn without_samples_there_are_no_statistics() {
        assert_eq!(Samples::new(Vec::new()), None);
    }
}
