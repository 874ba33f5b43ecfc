//! A macro for closed lists of values that are recorded under stable names.

/// Declares an enum, with a stable name for each variant.
macro_rules! closed_list {
    (
        $(#[$doc:meta])+ $type:ident: $names:literal
        $($(#[$of_variant:meta])+ $variant:ident = $name:literal,)+
    ) => {
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$of_variant])+ $variant,)+
        }

        impl $type {
            /// All variants, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            #[doc = $names]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
pub(crate) use closed_list;
