<?php
// Ends in the ways in which scripts end badly, after so much of a page.
header('Cache-Control: max-age=60');
if ($_GET['how'] === 'short') {
    header('Content-Length: 1000');
}
echo str_repeat('x', (int) ($_GET['after'] ?? 0));
switch ($_GET['how']) {
    case 'fatal':
        undefined_function();
    case 'killed':
        flush();
        exec('kill -9 ' . getmypid());
        sleep(60);
    case 'hangs':
        flush();
        sleep(60);
    case 'silent':
        exit(1);
}
