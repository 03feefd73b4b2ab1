package blog;

/** One row of the table. */
record Post(long id, String title, String category, String body) {}
