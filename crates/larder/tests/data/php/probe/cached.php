<?php
// A page that may be kept, then kept beyond its life.
require __DIR__ . '/../site.php';
header('Cache-Control: max-age=' . ($_GET['age'] ?? 60) . ', stale-if-error=600');
echo 'run ', runs();
