package blog;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/** Pages of the blog. */
final class BlogServlet extends HttpServlet {
    private static final Pattern POST = Pattern.compile("/read/([0-9]{1,9})");

    private final transient Posts posts;
    private final transient Larder larder;
    /** What the gain is measured by: requests that reached Tomcat. */
    private final AtomicLong requests = new AtomicLong();

    BlogServlet(Posts posts, Larder larder) {
        this.posts = posts;
        this.larder = larder;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        if (request.getRequestURI().equals("/requests")) {
            response.setHeader("Cache-Control", "no-store");
            response.getWriter().print(requests.get());
            return;
        }
        requests.incrementAndGet();
        super.service(request, response);
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        var one = POST.matcher(request.getRequestURI());
        try {
            if (request.getRequestURI().equals("/read")) {
                // It says nothing of caching. That this page is kept for a second is the site's doing, in larder.toml.
                page(response, posts.anyFive(), "<p>Count: " + posts.aboutSevenOfTen() + "</p>");
            } else if (one.matches()) {
                var found = posts.one(Long.parseLong(one.group(1)));
                if (found.isEmpty()) {
                    response.sendError(HttpServletResponse.SC_NOT_FOUND);
                    return;
                }
                // Kept for long, since Larder is told when it changes; browsers ask each time.
                response.setHeader("Cache-Control", "max-age=0, s-maxage=600, stale-while-revalidate=60");
                response.setHeader("Cache-Tag", tag(found.get(0).id()));
                page(response, found, "");
            } else {
                response.sendError(HttpServletResponse.SC_NOT_FOUND);
            }
        } catch (SQLException error) {
            throw new ServletException(error);
        }
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        var one = POST.matcher(request.getRequestURI());
        var title = request.getParameter("title");
        try {
            if (!one.matches() || title == null || !posts.rename(Long.parseLong(one.group(1)), title)) {
                response.sendError(HttpServletResponse.SC_NOT_FOUND);
                return;
            }
            larder.purge(tag(Long.parseLong(one.group(1))));
            response.setHeader("Location", request.getRequestURI());
            response.setStatus(HttpServletResponse.SC_SEE_OTHER);
        } catch (SQLException error) {
            throw new ServletException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ServletException(error);
        }
    }

    private static String tag(long id) {
        return "post-" + id;
    }

    private static void page(HttpServletResponse response, List<Post> posts, String more) throws IOException {
        response.setContentType("text/html; charset=utf-8");
        var out = response.getWriter();
        out.println("<!DOCTYPE html><title>Blog</title>");
        for (var post : posts) {
            out.printf(
                    "<h2>%s</h2><p><strong>%s</strong></p><p>%s</p>%n",
                    escaped(post.title()), escaped(post.category()), escaped(post.body()));
        }
        out.println(more);
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
