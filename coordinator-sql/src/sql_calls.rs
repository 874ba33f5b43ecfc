//! Declares the client's methods that run one statement.

/// Declares methods of [`Coordinator`](crate::coordinator::Coordinator). A declaration contains the
/// method's arguments and result, the runner method, the statement, and the statement's parameters
/// in the order of their numbers. The runner method also determines the call's time limit and how
/// rows become the result (`coordinator.rs`).
macro_rules! sql_calls {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis async fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty
            = $run:ident($sql:literal $(, $parameter:expr)* $(,)?);
    )*) => {
        impl $crate::coordinator::Coordinator {
            $(
                $(#[$attribute])*
                $visibility async fn $name(&self, $($argument: $type),*) -> $result {
                    let result =
                        self.$run($sql, &[$($crate::bind::bind(&$parameter)),*]).await?;
                    Ok(result)
                }
            )*
        }
    };
}
pub(crate) use sql_calls;
