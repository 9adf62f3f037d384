dd if=/dev/zero of=/dev/null bs=400M count=1 2>/dev/null # 400 MB at once
