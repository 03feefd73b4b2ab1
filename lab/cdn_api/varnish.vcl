vcl 4.1;

# Varnish in the place of the CDN: its built-in VCL, which obeys the API and has ten seconds of grace.
backend api {
    .host = "127.0.0.1";
    .port = "@APP@";
}

sub vcl_recv {
    # Known to be never storable: Varnish is spared the lookup.
    if (req.url == "/") {
        return (pass);
    }
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
}
