<?php
// Answers for everything that is neither file nor folder.

require __DIR__ . '/site.php';

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);

if (isset($_GET['s'])) {
    page('Search', 'Found for ' . htmlspecialchars($_GET['s']));
    return;
}
if (isset($_GET['preview'])) {
    if (user() === null) {
        http_response_code(404);
        page('Not found', '');
        return;
    }
    nocache();
    $post = posts()[$_GET['p']] ?? ['title' => '', 'text' => ''];
    page("Preview: {$post['title']}", $post['text'] . ' By ' . user());
    return;
}

switch (trim($path, '/')) {
    case '':
    case 'index.php':
        $titles = array_map(fn ($post) => $post['title'], array_filter(posts(), fn ($post) => !isset($post['status'])));
        page('Home', implode(', ', $titles));
        return;
    case 'feed':
        header('Content-Type: application/rss+xml; charset=UTF-8');
        header('Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT');
        header('ETag: "' . md5(json_encode(posts())) . '"');
        echo "<rss><channel>", implode('', array_map(fn ($post) => "<item>{$post['title']}</item>", posts())), '<!-- run ', runs(), " -->\n";
        return;
    case 'shop':
        page('Shop', "<a href='/cart/?add-to-cart=tea'>Tea</a>");
        return;
    case 'cart':
    case 'checkout':
    case 'my-account':
        if (isset($_GET['add-to-cart'])) {
            $session = $_COOKIE['wp_woocommerce_session_5f2a'] ?? bin2hex(random_bytes(8));
            $_COOKIE['wp_woocommerce_session_5f2a'] = $session;
            remember("basket-$session", [...basket(), $_GET['add-to-cart']]);
            setcookie('woocommerce_items_in_cart', '1', path: '/');
            setcookie('woocommerce_cart_hash', md5($session), path: '/');
            setcookie('wp_woocommerce_session_5f2a', $session, path: '/', httponly: true);
        }
        nocache();
        page(ucfirst(trim($path, '/')), 'Yours: ' . implode(', ', basket()));
        return;
}

$post = posts()[trim($path, '/')] ?? null;
if ($post === null || isset($post['status'])) {
    http_response_code(404);
    page('Not found', '');
    return;
}
if (isset($post['password']) && ($_COOKIE['wp-postpass_5f2a'] ?? '') !== md5($post['password'])) {
    page($post['title'], "<form action='/wp-login.php?action=postpass' method='post'><input name='post_password'></form>");
    return;
}
$comments = state('comments-' . trim($path, '/'), []);
page($post['title'], $post['text'] . implode('', array_map(fn ($text) => '<li>' . htmlspecialchars($text), $comments)));
