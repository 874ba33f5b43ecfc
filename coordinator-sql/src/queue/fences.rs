//! Fences as parameters: three arrays with one element per job.

use uuid::Uuid;

use crate::{
    connection::bind::{Bound, bind},
    queue::job::Fence,
};

#[derive(Debug)]
pub(super) struct Fences {
    job_ids: Vec<i64>,
    lease_numbers: Vec<i32>,
    tokens: Vec<Uuid>,
}

impl From<&[Fence]> for Fences {
    fn from(fences: &[Fence]) -> Self {
        Self {
            job_ids: fences.iter().map(|fence| fence.job_id).collect(),
            lease_numbers: fences.iter().map(|fence| fence.lease_number).collect(),
            tokens: fences.iter().map(|fence| fence.token).collect(),
        }
    }
}

impl Fences {
    pub(super) fn and<'a>(&'a self, others: impl IntoIterator<Item = Bound<'a>>) -> Vec<Bound<'a>> {
        let mut parameters =
            vec![bind(&self.job_ids), bind(&self.lease_numbers), bind(&self.tokens)];
        parameters.extend(others);
        parameters
    }
}

pub(crate) fn fenced<'a>(
    fence: &'a Fence,
    others: impl IntoIterator<Item = Bound<'a>>,
) -> Vec<Bound<'a>> {
    let mut parameters = vec![bind(&fence.job_id), bind(&fence.lease_number), bind(&fence.token)];
    parameters.extend(others);
    parameters
}
