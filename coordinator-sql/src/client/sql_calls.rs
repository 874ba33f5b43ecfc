//! Declares the client's methods that run one statement.

/// A declaration contains the method, the runner method of
/// [`Coordinator`](crate::client::coordinator::Coordinator), the statement, and its parameters in
/// the order of their numbers.
macro_rules! sql_calls {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis async fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty
            = $run:ident($sql:literal $(, $parameter:expr)* $(,)?);
    )*) => {
        impl $crate::client::coordinator::Coordinator {
            $(
                $(#[$attribute])*
                $visibility async fn $name(&self, $($argument: $type),*) -> $result {
                    let result = self
                        .$run($sql, &[$($crate::connection::bind::bind(&$parameter)),*])
                        .await?;
                    Ok(result)
                }
            )*
        }
    };
}
pub(crate) use sql_calls;
