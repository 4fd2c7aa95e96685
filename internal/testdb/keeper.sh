# Runs one server for a test process, and outlives that process just long enough
# to stop the server and remove its files, however the process ended: its end
# closes our standard input.
#   $1        the server's directory
#   $2        the signal that stops the server
#   the rest  the server's command
# Each line read starts the server; "started PID" and "exited" are printed.
dir=$1 signal=$2
shift 2
cd "$dir" || exit 1
run() {
	"$@" >>"$dir/log" 2>&1 </dev/null &
	echo $! >"$dir/pid"
	echo "started $!"
	wait $!
	rm -f "$dir/pid"
	echo "exited"
}
while read -r _; do
	run "$@" &
done
test -f "$dir/pid" && kill "-$signal" "$(cat "$dir/pid")"
wait
cd / && rm -rf "$dir"
