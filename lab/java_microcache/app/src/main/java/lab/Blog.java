package lab;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.startup.Tomcat;
import org.h2.jdbcx.JdbcConnectionPool;

/** The article's application: 8,000 rows, of which each page counts some and shows five, both by reading all of them. */
public final class Blog extends HttpServlet {
    private static final int ROWS = 8_000;
    private static final String SENTENCE = "What an article of a blog says, again and again, until it is long enough. ";

    private final transient JdbcConnectionPool pool;
    /** Larder's admin API, or empty where nobody is told of updates. */
    private final String admin;
    private final transient HttpClient client = HttpClient.newHttpClient();
    /** How often each page was updated. */
    private final ConcurrentHashMap<String, Integer> versions = new ConcurrentHashMap<>();

    private Blog(JdbcConnectionPool pool, String admin) {
        this.pool = pool;
        this.admin = admin;
    }

    /** Arguments: the port, and Larder's admin API where there is one. */
    public static void main(String[] arguments) throws Exception {
        JdbcConnectionPool pool = JdbcConnectionPool.create("jdbc:h2:mem:blog;DB_CLOSE_DELAY=-1", "sa", "");
        pool.setMaxConnections(200);
        fill(pool);
        serve(Integer.parseInt(arguments[0]), new Blog(pool, arguments.length > 1 ? arguments[1] : ""));
    }

    private static void fill(JdbcConnectionPool pool) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.createStatement().execute(
                "create table blog (id int primary key, title varchar, category varchar, body varchar, remarks varchar)");
            try (PreparedStatement insert = connection.prepareStatement("insert into blog values (?, ?, ?, ?, ?)")) {
                for (int row = 0; row < ROWS; row++) {
                    insert.setInt(1, row);
                    insert.setString(2, "Article " + row);
                    insert.setString(3, "Category " + row % 20);
                    insert.setString(4, row + ": " + SENTENCE.repeat(70));
                    insert.setString(5, "Remark " + row);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
        }
    }

    private static void serve(int port, Blog blog) throws IOException, LifecycleException {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
        tomcat.setPort(port);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("acceptCount", "4096");
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "blog", blog);
        context.addServletMappingDecoded("/", "blog");
        tomcat.start();
        tomcat.getServer().await();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String page = request.getRequestURI();
        try (Connection connection = pool.getConnection()) {
            StringBuilder html = new StringBuilder("<!doctype html><html><head><title>Welcome</title></head><body>\n");
            html.append("<p>Version ").append(versions.getOrDefault(page, 0)).append("</p>\n");
            show(connection, html);
            byte[] content = html.append("</body></html>\n").toString().getBytes(StandardCharsets.UTF_8);
            response.setContentType("text/html;charset=UTF-8");
            // What a cache may be told to forget; nothing is said of lifetimes.
            response.setHeader("Cache-Tag", tag(page));
            response.setContentLength(content.length);
            response.getOutputStream().write(content);
        } catch (SQLException fault) {
            response.sendError(503, "the database: " + fault.getMessage());
        }
    }

    private static void show(Connection connection, StringBuilder html) throws SQLException {
        int count;
        try (ResultSet found = connection.createStatement().executeQuery("select count(*) from blog where rand() < 0.7")) {
            found.next();
            count = found.getInt(1);
        }
        try (ResultSet found = connection.createStatement().executeQuery("select * from blog order by rand() limit 5")) {
            while (found.next()) {
                html.append("<h2>").append(found.getString("title")).append("</h2>\n<p><strong>Category: ")
                    .append(found.getString("category")).append("</strong></p>\n<p><strong>Count: ").append(count)
                    .append("</strong></p>\n<p>").append(found.getString("body")).append("</p>\n");
            }
        }
    }

    /** An update of a page: it is another one from now on, and the cache is told before the author is answered. */
    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String page = request.getRequestURI();
        int version = versions.merge(page, 1, Integer::sum);
        if (!admin.isEmpty()) {
            String body = "{\"tags\": [\"" + tag(page) + "\"], \"soft\": true}";
            HttpRequest purge = HttpRequest.newBuilder(URI.create(admin + "/purge"))
                .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body)).build();
            try {
                int status = client.send(purge, HttpResponse.BodyHandlers.discarding()).statusCode();
                if (status != 200) {
                    response.sendError(502, "the cache says " + status);
                    return;
                }
            } catch (InterruptedException fault) {
                Thread.currentThread().interrupt();
                response.sendError(503, "interrupted");
                return;
            }
        }
        response.setContentType("text/plain");
        response.getWriter().print(version);
    }

    private static String tag(String page) {
        return "page" + page.replace('/', '-');
    }
}
