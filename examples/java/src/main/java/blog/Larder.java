package blog;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** Larder's admin API. */
final class Larder {
    private final HttpClient client = HttpClient.newHttpClient();
    private final URI purge;

    Larder(URI admin) {
        purge = admin.resolve("/purge");
    }

    /** Ends all pages that carry this tag. When this returns, nobody gets them as they were. */
    void purge(String tag) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(purge)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(5))
                .POST(HttpRequest.BodyPublishers.ofString("{\"tag\": \"" + tag + "\"}"))
                .build();
        var answer = client.send(request, BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException(tag + " was not purged: " + answer.body());
        }
    }
}
