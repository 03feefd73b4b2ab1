<?php
// For whoever is logged in.

require __DIR__ . '/../site.php';

nocache();
if (user() === null) {
    header('Location: /wp-login.php');
    return;
}
page('Dashboard', 'Yours alone, ' . user());
