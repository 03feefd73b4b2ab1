package blog;

import java.net.URI;
import java.nio.file.Files;
import org.apache.catalina.startup.Tomcat;

/** A blog on Tomcat with its table in H2, and Larder before it. The port is the argument. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        var larder = System.getenv().getOrDefault("LARDER_ADMIN", "http://127.0.0.1:9180");

        var tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("blog").toString());
        tomcat.setPort(Integer.parseInt(arguments[0]));
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "blog", new BlogServlet(new Posts(), new Larder(URI.create(larder))));
        context.addServletMappingDecoded("/*", "blog");
        tomcat.start();
        tomcat.getServer().await();
    }
}
