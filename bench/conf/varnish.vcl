vcl 4.1;

# Everything not said here is Varnish's built-in VCL: it follows the origin's Cache-Control.
backend origin {
    .host = "127.0.0.1";
    .port = "@ORIGIN@";
}

sub vcl_recv {
    # Known to be never storable: Varnish is spared the lookup.
    if (req.url ~ "^/private/") {
        return (pass);
    }
}
