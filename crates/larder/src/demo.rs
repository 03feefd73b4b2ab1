//! The demonstration of `larder demo`: a slow application, and a visitor that asks it through the cache.

mod application;
mod content;
mod tour;
mod visitor;

#[cfg(test)]
mod tests;

pub use application::Application;
pub use tour::Tour;
pub use visitor::Broken;
