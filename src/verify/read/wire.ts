/** Sends frames from the interfaces of pods, and listens at the devices of the host (packet(7)). Nothing of a pod is changed, and nothing is left when the process ends. */
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FrameListener,
  links,
  namespaceId,
  NetlinkSocket,
  sendFrame,
  type Link,
} from 'rtnetlink-ts';
import { captureFilter } from '../packets/capture-filter.ts';
import type { Wire } from '../packets/packets.ts';

/** Where container runtimes name the network namespaces of pods, and what Heddle's own pod has of it. */
const NAMESPACES = '/var/run/netns';

/** Takes CAP_NET_RAW, CAP_NET_ADMIN and CAP_SYS_ADMIN. Throws NetlinkError. */
export function openWire(nonce: number): Wire {
  const listener = new FrameListener({ filter: captureFilter(nonce) });
  const route = new NetlinkSocket('route');
  let names = new Map<number, string>();
  let byName = new Map<string, Link>();
  const read = (): void => {
    const all = route.dump(links());
    names = new Map(all.map(({ index, name }) => [index, name]));
    byName = new Map(all.map((link) => [link.name, link]));
  };
  const nameOf = (device: number): string => {
    if (!names.has(device)) read();
    return names.get(device) ?? `number ${device}`;
  };
  return {
    send(device, frame) {
      if (!byName.has(device)) read();
      const { peer, peerNamespace, kind } = byName.get(device) ?? {};
      if (kind !== 'veth' || peer === undefined || peerNamespace === undefined)
        throw new Error(`device ${device} is no end of a veth pair that a pod has`);
      const namespace = openNamespace(peerNamespace, route);
      if (namespace === undefined)
        throw new Error(`the network namespace behind device ${device} is not in ${NAMESPACES}`);
      try {
        sendFrame(peer, frame, { namespace });
      } finally {
        closeSync(namespace);
      }
    },
    take: () =>
      listener
        .take()
        .map(({ device, isOutgoing, frame }) => ({ device: nameOf(device), isOutgoing, frame })),
    lost: () => listener.lost(),
    wait: (milliseconds) => sleep(milliseconds),
    [Symbol.dispose]() {
      listener[Symbol.dispose]();
      route[Symbol.dispose]();
    },
  };
}

/** A descriptor of the namespace that the host knows by a number. */
function openNamespace(id: number, route: NetlinkSocket): number | undefined {
  for (const name of existsSync(NAMESPACES) ? readdirSync(NAMESPACES) : []) {
    let descriptor: number;
    try {
      descriptor = openSync(join(NAMESPACES, name), 'r');
    } catch {
      continue; // its pod is gone
    }
    try {
      if (route.get(namespaceId(descriptor)) === id) return descriptor;
    } catch {
      // A file that a runtime has not made a namespace of yet.
    }
    closeSync(descriptor);
  }
  return undefined;
}
