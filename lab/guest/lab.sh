# The lab's library, sourced inside it. A node is a network, mount and UTS namespace with its own conf.db, ovs-vswitchd,
# NB, SB, northd and ovn-controller: one OVN zone per node. Pods and the outside host are network namespaces.
# A node's Open vSwitch has the settings of `node-prerequisites`: what docs/install.md asks for. heddle node sets the others.
# Node nI has 172.18.0.(10+I) and fd00:172:18::(10+I) on eth0, of which heddle node makes breth0; "ext", .100, is the outside host.
[ -n "${LAB_DIR:-}" ] || LAB_DIR=$(< /run/lab-dir)
. "$LAB_DIR/env"
export LAB_DIR LAB_DATAPATH NO_COLOR=1
LAB_PRIVATE=/var/lib/lab        # databases, seen in the lab only
LAB_NET4=172.18.0 LAB_NET6=fd00:172:18:
OVS_SCHEMA=/usr/share/openvswitch/vswitch.ovsschema
NB_SCHEMA=/usr/share/ovn/ovn-nb.ovsschema
SB_SCHEMA=/usr/share/ovn/ovn-sb.ovsschema

uptime_s() { local u; read -r u _ < /proc/uptime; echo "$u"; }
say() { printf '%s\n' "$*"; }
node_number() { echo "${1#n}"; }
node_ip() { echo "$LAB_NET4.$((10 + ${1#n}))"; }
node_ip6() { echo "$LAB_NET6:$((10 + ${1#n}))"; }
node_mac() { printf '0a:58:ac:12:00:%02x' $((10 + ${1#n})); }
node_chassis() { printf '1ab00000-0000-4000-8000-%012d' "${1#n}"; }
nodes() { cat "$LAB_DIR/nodes" 2>/dev/null; }
# on NODE CMD...: run in a node's namespaces
on() {
  local n=$1; shift
  [[ $n =~ ^n[0-9]+$ ]] && [ -e "$LAB_DIR/$n/pid" ] || { echo "on: '$n' is not a node of this lab; its nodes: $(nodes | tr '\n' ' ')" >&2; return 2; }
  nsenter -t "$(< "$LAB_DIR/$n/pid")" -n -m -u -- "$@"
}
each() { local n; for n in $(nodes); do on "$n" "$@"; done; }

lab_underlay() {
  mkdir -p /run/netns; echo "$LAB_DIR" > /run/lab-dir
  mountpoint -q /run/netns || mount --bind /run/netns /run/netns
  mount --make-shared /run/netns     # pods made by a node show up everywhere
  ip link add underlay type bridge; ip link set underlay up
  ip netns add ext
  ip link add u-ext type veth peer name eth0 netns ext
  ip link set u-ext master underlay up
  ip -n ext -b - <<I
link set lo up
addr add $LAB_NET4.100/24 dev eth0
addr add ${LAB_NET6}:100/64 dev eth0 nodad
link set eth0 up
I
  ip netns exec ext ethtool -K eth0 tx off >/dev/null 2>&1
}

lab_node() { # NODE: its namespaces and its underlay link
  local n=$1 d=$LAB_DIR/$1 p=$LAB_PRIVATE/$1
  mkdir -p "$d"/{ovs,ovn,log} "$p"/{etc-ovs,lib-ovn}
  # Who waits for the end of our output does not wait for it.
  unshare --net --mount --uts --propagation slave sleep infinity > /dev/null 2>&1 & echo $! > "$d/pid"
  until [ "$(readlink "/proc/$(< "$d/pid")/ns/uts")" != "$(readlink /proc/$$/ns/uts)" ]; do sleep 0.02; done
  ip netns attach "$n" "$(< "$d/pid")"
  ip link add "u-$n" type veth peer name eth0 address "$(node_mac "$n")" netns "$n"
  ip link set "u-$n" master underlay up
  on "$n" bash -e -c "
    hostname $n; mount -t sysfs sys /sys; [ $LAB_DATAPATH = netdev ] || mount -t cgroup2 none /sys/fs/cgroup || true   # ip vrf exec wants it
    mkdir -p /run/openvswitch /run/ovn /etc/openvswitch /var/lib/ovn /var/log/openvswitch /var/log/ovn
    mount --bind $d/ovs /run/openvswitch; mount --bind $d/ovn /run/ovn; mount --bind $p/etc-ovs /etc/openvswitch
    mount --bind $p/lib-ovn /var/lib/ovn; mount --bind $d/log /var/log/openvswitch; mount --bind $d/log /var/log/ovn
    echo $(node_chassis "$n") > /etc/openvswitch/system-id.conf
    ip link set lo up
    sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
    sysctl -qw net.ipv6.conf.all.forwarding=1 || true"
  ip -n "$n" -b - <<I
link set eth0 up
addr add $(node_ip "$n")/24 dev eth0
addr add $(node_ip6 "$n")/64 dev eth0 nodad
route add default via $LAB_NET4.100
route add default via ${LAB_NET6}:100
I
  if [ "$LAB_DATAPATH" = netdev ]; then
    # The userspace datapath reads eth0 through a packet socket: without this the kernel's own stack would answer too. So nobody
    # reaches the node before it has its bridge.
    on "$n" ethtool -K eth0 tx off >/dev/null 2>&1
    on "$n" nft -f - <<< 'table netdev lab { chain in { type filter hook ingress device eth0 priority 0; policy drop; }; }'
  fi
  grep -qsx "$n" "$LAB_DIR/nodes" || echo "$n" >> "$LAB_DIR/nodes"
}

lab_databases() { # empty databases, made once and copied
  mkdir -p $LAB_PRIVATE/empty
  ovsdb-tool create $LAB_PRIVATE/empty/conf.db $OVS_SCHEMA
  ovsdb-tool create $LAB_PRIVATE/empty/ovnnb_db.db $NB_SCHEMA
  ovsdb-tool create $LAB_PRIVATE/empty/ovnsb_db.db $SB_SCHEMA
}

# ---- services of a node; run inside it (on NODE bash -c '. /lab/lab.sh; start_nb NODE') ----
QUIET="-vconsole:off -vsyslog:off --detach --no-chdir"
start_ovsdb() {
  ovsdb-server $QUIET --remote=punix:/run/openvswitch/db.sock --remote=db:Open_vSwitch,Open_vSwitch,manager_options \
    --pidfile --log-file=/var/log/ovn/ovsdb-server.log /etc/openvswitch/conf.db
}
start_vswitchd() { ovs-vswitchd $QUIET --pidfile --log-file=/var/log/ovn/ovs-vswitchd.log; }
start_ovn_db() { # nb|sb NAME GLOBAL_TABLE
  ovsdb-server $QUIET --remote=punix:/run/ovn/ovn$1_db.sock --remote=db:OVN_$2,$3,connections --unixctl=/run/ovn/ovn$1_db.ctl \
    --pidfile=/run/ovn/ovn$1_db.pid --log-file=/var/log/ovn/ovsdb-server-$1.log /var/lib/ovn/ovn$1_db.db
}
start_nb() { start_ovn_db nb Northbound NB_Global; }
start_sb() { start_ovn_db sb Southbound SB_Global; }
name_zone() { ovn-nbctl set NB_Global . name="$1" options:name="$1" options:northd_probe_interval=180000; }
start_northd() {
  ovn-northd $QUIET --ovnnb-db=unix:/run/ovn/ovnnb_db.sock --ovnsb-db=unix:/run/ovn/ovnsb_db.sock \
    --pidfile=/run/ovn/ovn-northd.pid --log-file=/var/log/ovn/ovn-northd.log
}
# Started again however it ended: 25.03.0 now and then crashes in its first second, and in a cluster the kubelet does so after SIGKILL, too, which
# --monitor does not. `service NODE stop|kill controller` ends its keeper first.
CONTROLLER=/run/ovn/ovn-controller
start_controller() {
  local p
  if ! kill -0 "$(cat $CONTROLLER.keeper 2>/dev/null)" 2>/dev/null; then
    setsid bash -c "while :; do
        ovn-controller -vconsole:off -vsyslog:off --pidfile=$CONTROLLER.pid --log-file=/var/log/ovn/ovn-controller.log unix:/run/openvswitch/db.sock
        sleep 0.5
      done" > /dev/null 2>&1 < /dev/null &
    echo $! > $CONTROLLER.keeper
  fi
  for _ in {1..200}; do
    p=$(cat $CONTROLLER.pid 2>/dev/null) && [ -S "$CONTROLLER.$p.ctl" ] && kill -0 "$p" 2>/dev/null && return
    sleep 0.05
  done
  echo "ovn-controller did not start: see /var/log/ovn/ovn-controller.log" >&2; return 1
}
stop_keeper() { kill -KILL "$(cat $CONTROLLER.keeper 2>/dev/null)" 2>/dev/null; rm -f $CONTROLLER.keeper; }

lab_disk() { # NODE: databases of a node that was never up
  cp $LAB_PRIVATE/empty/conf.db "$LAB_PRIVATE/$1/etc-ovs/"; cp $LAB_PRIVATE/empty/ovn*.db "$LAB_PRIVATE/$1/lib-ovn/"
}

# prerequisites NODE: the settings of Open vSwitch that whoever sets up a node has to make, as ovs-vsctl takes them.
prerequisites() {
  local key
  while read -r key _; do
    case $key in
      ''|'#'*) ;;
      system-id) echo "external_ids:system-id=$(node_chassis "$1")" ;;
      ovn-bridge-datapath-type) [ "$LAB_DATAPATH" = system ] || echo "external_ids:ovn-bridge-datapath-type=$LAB_DATAPATH" ;;
      *) echo "lab: no value for $key of node-prerequisites" >&2; return 1 ;;
    esac
  done < /lab/node-prerequisites
}

lab_services() { # NODE
  local n=$1 settings
  settings=$(prerequisites "$n") || return 1
  on "$n" bash -e -c "
    . /lab/lab.sh
    start_ovsdb
    ovs-vsctl --no-wait set Open_vSwitch . ${settings//$'\n'/ }
    start_vswitchd
    start_nb; start_sb; name_zone $n
    start_northd; start_controller
    ovn-nbctl --timeout=120 --wait=sb sync"
}

# lab_bridge NODE: br-ex and settings of ovn-controller by hand, where no heddle node makes them.
lab_bridge() {
  local n=$1 q
  on "$n" ovs-vsctl --no-wait set Open_vSwitch . external_ids:ovn-remote=unix:/run/ovn/ovnsb_db.sock external_ids:ovn-encap-type=geneve \
    external_ids:ovn-encap-ip="$(node_ip "$n")" external_ids:ovn-bridge-mappings=physnet:br-ex external_ids:ovn-is-interconn=true external_ids:ovn-monitor-all=true
  on "$n" ovs-vsctl --no-wait add-br br-ex -- set bridge br-ex datapath_type=$LAB_DATAPATH 'other_config:hwaddr="'"$(node_mac "$n")"'"' external_ids:bridge-id=br-ex external_ids:bridge-uplink=eth0 \
    -- add-port br-ex eth0 -- set interface eth0 ofport_request=1
  for q in $(seq 200); do [ "$(on "$n" ovs-vsctl get interface eth0 ofport 2>/dev/null)" = 1 ] && on "$n" test -e /sys/class/net/br-ex && break; sleep 0.05; done
  ip -n "$n" -b - <<I
addr flush dev eth0
addr add $(node_ip "$n")/24 dev br-ex
addr add $(node_ip6 "$n")/64 dev br-ex nodad
link set br-ex up
route add default via $LAB_NET4.100
route add default via ${LAB_NET6}:100
I
  base_flows "$n" | on "$n" ovs-ofctl -O OpenFlow13 --bundle replace-flows br-ex -
  for q in $(seq 400); do on "$n" test -e /sys/class/net/br-int && break; sleep 0.05; done
  on "$n" ovn-nbctl --timeout=120 --wait=hv sync
}

# base_flows NODE: br-ex before any gateway router exists: the flows of the reference's external bridge that concern the host
# itself, and nothing for patch ports. There is no NORMAL action, so br-ex can't learn the node's MAC on a patch port
# (gateway routers carry it), and Geneve always reaches the host.
base_flows() {
  local mac; mac=$(node_mac "$1")
  cat <<F
table=0,priority=205,in_port=eth0,dl_dst=$mac,udp,udp_dst=6081,actions=LOCAL
table=0,priority=205,in_port=eth0,dl_dst=$mac,udp6,udp_dst=6081,actions=LOCAL
table=0,priority=200,in_port=LOCAL,udp,udp_dst=6081,actions=output:eth0
table=0,priority=200,in_port=LOCAL,udp6,udp_dst=6081,actions=output:eth0
table=0,priority=100,in_port=LOCAL,ip,actions=ct(commit,zone=64000,exec(set_field:0x2->ct_mark)),output:eth0
table=0,priority=100,in_port=LOCAL,ipv6,actions=ct(commit,zone=64000,exec(set_field:0x2->ct_mark)),output:eth0
table=0,priority=101,in_port=LOCAL,icmp6,icmpv6_type=135,actions=output:eth0
table=0,priority=101,in_port=LOCAL,icmp6,icmpv6_type=136,actions=output:eth0
table=0,priority=50,in_port=eth0,dl_dst=$mac,ip,actions=ct(zone=64000,nat,table=1)
table=0,priority=50,in_port=eth0,dl_dst=$mac,ipv6,actions=ct(zone=64000,nat,table=1)
table=0,priority=10,in_port=eth0,actions=LOCAL
table=0,priority=10,in_port=LOCAL,actions=output:eth0
table=0,priority=0,actions=drop
table=1,priority=100,ip,ct_state=+trk+est,ct_mark=0x2,actions=LOCAL
table=1,priority=100,ip,ct_state=+trk+rel,ct_mark=0x2,actions=LOCAL
table=1,priority=100,ipv6,ct_state=+trk+est,ct_mark=0x2,actions=LOCAL
table=1,priority=100,ipv6,ct_state=+trk+rel,ct_mark=0x2,actions=LOCAL
table=1,priority=10,dl_dst=$mac,actions=LOCAL
table=1,priority=0,actions=drop
F
}

lab_up() { # NUMBER_OF_NODES
  local i p pids=()
  say "underlay and namespaces of $1 nodes"
  [ "$LAB_DATAPATH" = netdev ] || modprobe -a openvswitch geneve vrf dummy 2>/dev/null
  lab_underlay || return 1
  for i in $(seq "$1"); do lab_node "n$i" || { say "node n$i: could not make its namespaces"; return 1; }; done
  say "databases, vswitchd, northd and ovn-controller on each node"
  lab_databases || return 1
  for i in $(seq "$1"); do { lab_disk "n$i" && lab_services "n$i" && say "node n$i answers"; } & pids+=($!); done
  for p in "${pids[@]}"; do wait "$p" || { say "a node did not come up: see $LAB_DIR/n*/log"; return 1; }; done
  { ovn-nbctl --version | awk 'NR==1{print "ovn=" $2}'; ovs-vswitchd --version | awk 'NR==1{print "ovs=" $NF}'; echo "kernel=$(uname -r)"
    if ip link add vrf-probe type vrf table 9 2>/dev/null; then ip link del vrf-probe; echo vrf=yes; else echo vrf=no; fi; } > "$LAB_DIR/versions"
}
export -f on nodes node_ip say uptime_s each
