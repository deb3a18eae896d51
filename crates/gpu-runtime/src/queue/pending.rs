//! Results that are on their way to the host.

use std::fmt;

use super::point::StreamPoint;
use super::retired;
use crate::error::Result;
use crate::wait::WaitPermit;

/// A value that arrives when a stream passes a point: the only way to it is to wait.
///
/// It owns what the copy works with. Dropped before the copy is done, it waits for nothing: what it
/// owns is kept until then. Forgotten, it leaks.
#[must_use = "the value can be reached only through `wait`"]
pub struct Pending<T: 'static> {
    point: StreamPoint,
    /// Makes the value of what arrived; taken out once.
    land: Option<Box<dyn FnOnce() -> T + Send>>,
}

impl<T> Pending<T> {
    /// A value that `land` makes once `point` is past. What the work before that point uses belongs
    /// into `land`.
    pub fn new(point: StreamPoint, land: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        Pending { point, land: Some(Box::new(land)) }
    }

    /// Blocks until the value is there.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before it failed.
    #[track_caller]
    pub fn wait(self) -> Result<T> {
        self.point.wait()?;
        Ok(self.land())
    }

    /// As [`wait`](Pending::wait), with a permit that was asked for before.
    pub(crate) fn wait_with(self, permit: WaitPermit) -> Result<T> {
        self.point.stream().wait_with(permit, self.point.sequence())?;
        Ok(self.land())
    }

    fn land(mut self) -> T {
        let land = self.land.take().expect("only `wait`, `map` and `drop` take it, and each once");
        land()
    }

    /// Whether [`wait`](Pending::wait) would return at once. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before it failed.
    #[track_caller]
    pub fn is_complete(&self) -> Result<bool> {
        self.point.is_complete()
    }

    /// The point at which the value is there.
    pub fn point(&self) -> &StreamPoint {
        &self.point
    }

    /// The same, with what `f` makes of the value, in the thread that waits for it.
    pub fn map<U>(mut self, f: impl FnOnce(T) -> U + Send + 'static) -> Pending<U> {
        let land = self.land.take().expect("only `wait`, `map` and `drop` take it, and each once");
        Pending::new(self.point.clone(), move || f(land()))
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(land) = self.land.take()
            && !matches!(self.point.is_past(), Ok(true))
        {
            retired::VALUES.keep(vec![self.point.clone()], land);
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("point", &self.point).finish_non_exhaustive()
    }
}
