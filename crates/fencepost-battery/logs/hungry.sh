dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null # 100 MB at once
