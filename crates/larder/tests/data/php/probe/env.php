<?php
// Everything that a script is told.
header('Content-Type: application/json');
echo json_encode(['body' => file_get_contents('php://input')] + $_SERVER, JSON_INVALID_UTF8_SUBSTITUTE);
