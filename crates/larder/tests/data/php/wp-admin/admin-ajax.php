<?php
// Small questions of pages, by anybody.

require __DIR__ . '/../site.php';

nocache();
header('Content-Type: application/json');
echo json_encode(['action' => $_REQUEST['action'] ?? '', 'user' => user(), 'basket' => basket(), 'run' => runs()]);
