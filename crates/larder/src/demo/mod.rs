//! What `larder demo` shows: a slow application, and a visitor who asks it through the cache.

mod application;
mod content;
mod tour;
mod visitor;

#[cfg(test)]
mod tests;

pub use application::Application;
pub use tour::Tour;
pub use visitor::Broken;
