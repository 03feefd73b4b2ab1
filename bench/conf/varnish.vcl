vcl 4.1;

# Everything not said here is Varnish's built-in VCL: it follows the origin's Cache-Control.
backend origin {
    .host = "127.0.0.1";
    .port = "@ORIGIN@";
}

# Pages that say so are composed of fragments, as its documentation has it.
sub vcl_backend_response {
    if (beresp.http.Surrogate-Control ~ "ESI/1.0") {
        unset beresp.http.Surrogate-Control;
        set beresp.do_esi = true;
    }
}

sub vcl_recv {
    # Known to be never storable: Varnish is spared the lookup.
    if (req.url ~ "^/private/") {
        return (pass);
    }
}
