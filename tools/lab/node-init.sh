#!/bin/sh
# The first process of a node, in its own network, PID and mount namespace: ending it
# ends every pod of the node, and takes the node's mounts along.
# node-init.sh DIRECTORY PROGRAMS NAME ADDRESS KUBECONFIG IMAGE
set -eu
directory=$1 programs=$2 name=$3 address=$4 kubeconfig=$5 image=$6
socket=/run/containerd/containerd.sock
finish() { exit 0; }
require_alive() {
	kill -0 "$1" 2>/dev/null && return
	echo "$2 of $name has ended:"
	tail -n 3 "$directory/$2.log"
	exit 1
}
trap finish TERM

# containerd, kubelet and CNI write to fixed paths: every node has these to itself,
# and the machine's own stay as they are
for path in run var/lib var/log; do
	mkdir -p "$directory/root/$path"
	mount --bind "$directory/root/$path" "/$path"
done
mkdir -p /run/containerd /run/netns

# kubelet sets these, and they are the whole machine's: it gets copies to write to
settings="vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops
kernel/keys/root_maxkeys kernel/keys/root_maxbytes"
for setting in $settings; do
	copy="$directory/root/sysctl/$setting"
	mkdir -p "${copy%/*}"
	cat "/proc/sys/$setting" >"$copy"
	mount --bind "$copy" "/proc/sys/$setting"
done

containerd --config "$directory/containerd.toml" >"$directory/containerd.log" 2>&1 &
containerd=$!
until ctr --address "$socket" version >/dev/null 2>&1; do
	require_alive "$containerd" containerd
	sleep 0.1
done
ctr --address "$socket" --namespace k8s.io images import "$image"
"$programs/kubelet" --config "$directory/kubelet.yaml" --kubeconfig "$kubeconfig" \
	--cert-dir "$directory/pki" --hostname-override "$name" --node-ip "$address" \
	>"$directory/kubelet.log" 2>&1 &
kubelet=$!
"$programs/kube-proxy" --kubeconfig "$kubeconfig" --hostname-override "$name" \
	--proxy-mode iptables --bind-address "$address" \
	--conntrack-max-per-core 0 --conntrack-min 0 \
	--conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0 \
	>"$directory/kube-proxy.log" 2>&1 &
proxy=$!
# `sleep` in the foreground also reaps the orphans of the pods, which end up here
while :; do
	require_alive "$containerd" containerd
	require_alive "$kubelet" kubelet
	require_alive "$proxy" kube-proxy
	sleep 1
done
