test $(od -An -tu8 -j64 -N8 $1) -le $(od -An -tu8 -j8 -N8 $1)
