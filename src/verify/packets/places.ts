/** What the devices of the host are to Open vSwitch: where a frame that is seen on one comes from, and where it goes. */
import { list, member, rowsOf, text, uuidOf, type Row } from '../rows.ts';
import type { Snapshot } from '../snapshot.ts';

/** A device, and which way a frame goes by it. */
export interface Passage {
  readonly device: string;
  /** The host sends it by the device; else it came in there. */
  readonly isOutgoing: boolean;
  /** Of the tunnel that it is in. */
  readonly tunnelKey?: number;
}

/** Where something comes out. */
export interface Place {
  readonly kind: 'pods' | 'host' | 'tunnels' | 'outside';
  readonly device: string;
  /** Logical port of the device. */
  readonly port?: string;
  readonly tunnelKey?: number;
}

interface Interface {
  /** A port whose other end is the host itself, not a wire. */
  readonly isInternal: boolean;
  readonly bridge: string;
  readonly port: string | undefined;
}

const INTEGRATION_BRIDGE = 'br-int';
/** What the kernel calls the device by which Open vSwitch sends to all tunnels of a UDP port. */
const TUNNELS = /^genev_sys_\d+$/;

export class Places {
  readonly #interfaces = new Map<string, Interface>();
  /** Devices that see a frame beside those that it goes by. */
  readonly #inner: ReadonlySet<string>;
  readonly #devices = new Map<string, string>();

  constructor({ openVswitch = new Map<string, readonly Row[]>(), host }: Snapshot) {
    const vrfs = (host.links ?? []).filter(({ table }) => table !== undefined);
    this.#inner = new Set(['lo', ...vrfs.map(({ name }) => name)]);
    const rows = new Map(
      ['Port', 'Interface'].flatMap((table) =>
        rowsOf(openVswitch, table).map((row) => [uuidOf(row), row] as const),
      ),
    );
    for (const bridge of rowsOf(openVswitch, 'Bridge'))
      for (const port of list(bridge, 'ports'))
        for (const uuid of list(rows.get(port) ?? {}, 'interfaces'))
          this.#take(rows.get(uuid) ?? {}, text(bridge, 'name'));
  }

  #take(row: Row, bridge: string): void {
    const name = text(row, 'name');
    const port = member(row, 'external_ids', 'iface-id');
    this.#interfaces.set(name, { isInternal: text(row, 'type') === 'internal', bridge, port });
    if (port !== undefined && bridge === INTEGRATION_BRIDGE) this.#devices.set(port, name);
  }

  /** The device of the host by which a logical port is reached. */
  deviceOf(port: string): string | undefined {
    return this.#devices.get(port);
  }

  /** Logical port of the pod that sends what is seen; undefined for what anybody else sends. */
  senderOf({ device, isOutgoing }: Passage): string | undefined {
    const known = this.#interfaces.get(device);
    return known?.bridge === INTEGRATION_BRIDGE && !known.isInternal && !isOutgoing
      ? known.port
      : undefined;
  }

  /** Where what is seen comes out; undefined for what is on its way yet. */
  exitOf({ device, isOutgoing, tunnelKey }: Passage): Place | undefined {
    if (tunnelKey !== undefined)
      return isOutgoing ? { kind: 'tunnels', device, tunnelKey } : undefined;
    if (TUNNELS.test(device)) return isOutgoing ? { kind: 'tunnels', device } : undefined;
    const known = this.#interfaces.get(device);
    if (known === undefined)
      return isOutgoing && !this.#inner.has(device) ? { kind: 'outside', device } : undefined;
    const { isInternal, bridge, port } = known;
    // What the switch gives to the host comes in by the host's device.
    if (isInternal === isOutgoing) return undefined;
    const logical = port === undefined ? {} : { port };
    if (isInternal) return { kind: 'host', device, ...logical };
    return { kind: bridge === INTEGRATION_BRIDGE ? 'pods' : 'outside', device, ...logical };
  }
}
