vcl 4.1;

# Varnish before nginx. Cookies are nobody's here; the lifetimes are those of fastcgi_cache beside it. Grace is as it comes: ten seconds.
backend nginx {
    .host = "127.0.0.1";
    .port = "@NGINX@";
}

sub vcl_backend_response {
    if (bereq.url ~ "^/moment") {
        set beresp.ttl = 5s;
    } else {
        set beresp.ttl = 60m;
    }
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
}
