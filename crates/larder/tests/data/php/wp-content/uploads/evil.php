<?php echo "run";
