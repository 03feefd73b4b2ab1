<?php
// Logs in, out, and opens posts that have a password.

require __DIR__ . '/site.php';

nocache();
if (($_GET['action'] ?? '') === 'postpass') {
    setcookie('wp-postpass_5f2a', md5($_POST['post_password']), path: '/');
    header('Location: /secret/');
} elseif ($_SERVER['REQUEST_METHOD'] === 'POST') {
    setcookie('wordpress_5f2a', $_POST['log'], path: '/wp-admin', httponly: true);
    setcookie('wordpress_logged_in_5f2a', $_POST['log'], path: '/', httponly: true);
    header('Location: /wp-admin/');
} else {
    setcookie('wordpress_test_cookie', 'WP Cookie check', path: '/');
    page('Log in', "<form method='post'><input name='log'></form>");
}
