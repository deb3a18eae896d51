//! The error of a sample that was not added to a batch.

/// The reason why a sample was not added to a batch: see
/// [`Dataset::get_into`](crate::Dataset::get_into).
#[derive(Debug, thiserror::Error)]
pub enum PutError<E> {
    /// The dataset could not read it.
    #[error("it could not be read: {0}")]
    Sample(E),
    /// It does not fit to those before it, or memory is short.
    #[error("it does not fit into the batch: {0}")]
    Collate(tensor::Error),
}

/// Errors of slots are of this kind.
impl<E> From<tensor::Error> for PutError<E> {
    fn from(error: tensor::Error) -> PutError<E> {
        PutError::Collate(error)
    }
}
