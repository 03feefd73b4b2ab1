package blog;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.h2.jdbcx.JdbcConnectionPool;

/** The table: 8,000 posts, in memory. */
final class Posts {
    private final JdbcConnectionPool pool = JdbcConnectionPool.create("jdbc:h2:mem:blog;DB_CLOSE_DELAY=-1", "", "");

    Posts() throws SQLException {
        try (var connection = pool.getConnection();
                var statement = connection.createStatement()) {
            statement.execute(
                    "create table post (id bigint primary key, title varchar, category varchar, body varchar)");
            statement.execute(
                    "insert into post select x, 'Post ' || x, 'Category ' || mod(x, 20), repeat('Words of post ' || x || '. ', 20)"
                            + " from system_range(1, 8000)");
        }
    }

    /** Five posts, any five. Each time the whole table is read and sorted. */
    List<Post> anyFive() throws SQLException {
        return query("select id, title, category, body from post order by rand() limit 5");
    }

    /** About seven of ten posts are counted: another walk through the whole table. */
    long aboutSevenOfTen() throws SQLException {
        try (var connection = pool.getConnection();
                var statement = connection.createStatement();
                var rows = statement.executeQuery("select count(*) from post where rand() < 0.7")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** One post, or none. */
    List<Post> one(long id) throws SQLException {
        return query("select id, title, category, body from post where id = ?", id);
    }

    /** Gives a post another title, and tells whether it is there. */
    boolean rename(long id, String title) throws SQLException {
        try (var connection = pool.getConnection();
                var statement = connection.prepareStatement("update post set title = ? where id = ?")) {
            bind(statement, title, id);
            return statement.executeUpdate() == 1;
        }
    }

    private List<Post> query(String sql, Object... values) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, values);
            var posts = new ArrayList<Post>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    posts.add(new Post(rows.getLong(1), rows.getString(2), rows.getString(3), rows.getString(4)));
                }
            }
            return posts;
        }
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int index = 0; index < values.length; index++) {
            statement.setObject(index + 1, values[index]);
        }
    }
}
