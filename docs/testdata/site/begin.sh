# Makes the site's files, starts its node, and defines what the commands of the pages need. pages_run_test.go runs this first.
export PATH="$PWD/bin:$PATH" HOME=$PWD
cp "$REPOSITORY/configs/types.yaml" types.yaml
sqlite3 wms.sqlite <schema.sql
cp wms.sqlite pilot.sqlite
ln -s site.yaml tallyman.yaml # The commands without --config read configs/tallyman.yaml.
ln -s . configs
if [ "$SITE" = runbooks ]; then sed -i.old '/119240.*119241/d' rules/stock.yaml; rm rules/*.old; fi # The rule of the runbooks has no scopes.
cp -r rules new
sed -i.old 's/qty < 0/qty < -5/' new/stock.yaml && rm new/stock.yaml.old
cp new/stock.yaml stock-new.yaml
printf 'y\n%.0s' {1..20} >answers
printf '\n%.0s' {1..20} >enter
mkdir -p "$HOME/.config/fish/completions"
fpath=("$HOME")

command -v jq >/dev/null || jq() { cat; }
redis-cli() { command redis-cli -u "$REDIS_URL" "$@"; }

tallyman migrate up --config site.yaml
psql -qd "$LEDGER_URL" -c 'ALTER SEQUENCE deliveries_seq RESTART WITH 4711'
tallyman tokens create --config site.yaml --subject user:ann --access admin --out admin.token
tallyman serve --config site.yaml >serve.log 2>&1 &
trap 'kill $(jobs -p); wait' EXIT
until grep -q Listening serve.log; do kill -0 $! || exit 1; sleep 0.1; done
# page sets the variables that a reader has set before a page.
ADMIN=$(cat admin.token)
page() { export TALLYMAN_SERVER=http://$LISTEN TALLYMAN_TOKEN=$ADMIN; }
page
for delivery in 4711 4712; do
  tallyman notices send --type REP_NOTICE --warehouse 119240 --data bin=A-01 --deliver sms,strategy=delayed,delay=1h
done
tallyman subscriptions add REP_NOTICE '*' role:keeper
if [ "$SITE" = runbooks ]; then tallyman rules run negative-bin-stock; else tallyman rules run negative-bin-stock --scope 119240; fi

# Commands that do not end by themselves are stopped once they work.
tallyman() {
  case "$1 ${2-}" in
    serve*)
      : >second.log # Without the line of the node before.
      command tallyman "$@" --set http.listen=127.0.0.1:0 >second.log 2>&1 &
      until grep -q Listening second.log; do
        if ! kill -0 $! 2>/dev/null; then cat second.log; return 1; fi
        sleep 0.1
      done
      kill $! && wait $!
      ;;
    demo*) command tallyman "$@" --listen 127.0.0.1:0 --for 100ms ;;
    "notices tail")
      command tallyman "$@" &
      sleep 1
      kill $! && wait $!
      ;;
    "tokens create") # The pages share a folder, and --out replaces no file.
      rm -f -- $(printf '%s\n' "$@" | grep -A1 -x -e --out | tail -n +2)
      command tallyman "$@"
      ;;
    *) command tallyman "$@" ;;
  esac
}
bin/tallyman() { tallyman "$@"; }

# until_prints TEXT COMMAND… repeats the command until it prints the text.
until_prints() {
  for i in $(seq 300); do if grep -q -- "$1" <<<"$("${@:2}")"; then return; fi; sleep 0.1; done
  "${@:2}"
}
notice() { tallyman notices list --warehouse 119240 --subscriber role:keeper -o json | grep -o '"n_[0-9a-z]*' | head -1 | tr -d '"'; }
silence() { tallyman silences add warehouse=119242 --for 1h --comment "for the test" -o json | grep -o 's_[a-z0-9]*' | head -1; }
token() { tallyman tokens create --subject user:eve --access viewer --out eve.token | grep -o 't_[a-z0-9]*'; }
# shadow puts the rule in shadow.
shadow() {
  sed -i.old 's/# shadow/shadow/' rules/stock.yaml && rm rules/stock.yaml.old
  tallyman rules reload
}
# second starts a node with TLS, on an address of its own.
second() {
  command tallyman serve --config site.yaml --set node.name=wms-2 --set http.listen=127.0.0.1:0 --set http.tls.cert=tls.crt --set http.tls.key=tls.key >tls.log 2>&1 &
  until grep -q Listening tls.log; do kill -0 $! || return; sleep 0.1; done
  TLS_SERVER=$(grep -o 'https://[0-9.:]*' tls.log)
}
# items makes two items of the queue, ready.
items() {
  ITEM=i_7k$((++n)) OTHER=i_9x$n
  tallyman queue push replenishment --id "$ITEM" --payload '{}' --priority 5 --order=-$n
  tallyman queue push replenishment --id "$OTHER" --payload '{}' --priority 5 --order 1
}
leased() {
  items
  tallyman queue resume replenishment
  tallyman queue lease replenishment --worker packer-7
}
# twice makes an item that is leased for the second time.
twice() {
  leased
  tallyman queue nack replenishment "$ITEM" --attempt 1
  tallyman queue lease replenishment --worker packer-7
}
dead() {
  leased
  tallyman queue settings replenishment --max-attempts 1
  tallyman queue nack replenishment "$ITEM" --attempt 1
}
until_prints A-01 tallyman notices list --warehouse 119240 --subscriber role:keeper
# The next lists of the source lack more than half, and wait.
until_prints '3 *ok' tallyman scopes list
until_prints '3 *ok' tallyman subscriptions origins
sqlite3 wms.sqlite "DELETE FROM warehouses WHERE wh_id <> '119240'" "DELETE FROM notice_subscribers WHERE login <> 'ann'"
