/** Whether the devices where tunnels end have room for the packets of pods: what does not fit is lost on the way to other nodes, and only large packets are. */
import { errorText } from '../../api/error-text.ts';
import { familyOf } from '../../allocators/addresses.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { Network } from '../../model/model.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { plainAddress } from '../plain-address.ts';
import type { UnderlayDevice } from './underlay-state.ts';

/** IP, UDP and Geneve with OVN's option (ovn-architecture(7), "Tunnel Encapsulations"), and the frame's header in it. */
const OVERHEAD = { v4: 20 + 8 + 16 + 14, v6: 40 + 8 + 16 + 14 } as const;

/** Bytes that a packet of a pod has in a tunnel to an end with that address. */
export const inTunnel = (mtu: number, address: string): number => mtu + OVERHEAD[familyOf(address)];

/** Pods of it on other nodes are reached by tunnels. */
export const isInTunnels = ({ topology }: Network): boolean => topology !== 'localnet';

/** That the device has no room for packets of pods with `mtu`, with what to do; undefined where it has. */
export const tooSmall = (
  device: UnderlayDevice,
  address: string,
  mtu: number,
): string | undefined =>
  device.mtu >= inTunnel(mtu, address)
    ? undefined
    : `${device.name}, where tunnels to ${address} end, has an MTU of ${device.mtu}; packets of pods need ${inTunnel(mtu, address)} there: raise it, or set --mtu and the networks' mtu to at most ${device.mtu - inTunnel(0, address)}`;

export interface TunnelMtuWatchOptions {
  readonly facts: Pick<ZoneFacts, 'self' | 'nodeName' | 'settings' | 'networks' | 'remoteNodes'>;
  /** Devices of the host; may throw where they can't be read. */
  readonly devices: () => readonly UnderlayDevice[];
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

/** Milliseconds between two looks at least: problems are asked for many times a second. */
const LOOK = 15_000;

export class TunnelMtuWatch {
  readonly #options: TunnelMtuWatchOptions;
  readonly #now: () => number;
  #lookedAt = -Infinity;
  #devices: readonly UnderlayDevice[] = [];
  #failure: string | undefined;

  constructor(options: TunnelMtuWatchOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
  }

  /** Where the MTU that all pods have is too large. */
  problems(): readonly ZoneProblem[] {
    const { facts } = this.#options;
    const found = this.#ends().map(({ device, address }) =>
      tooSmall(device, address, facts.settings.mtu),
    );
    const failure =
      this.#failure && `the MTU of devices where tunnels end can't be read: ${this.#failure}`;
    return [...found, failure].flatMap((message) =>
      message === undefined ? [] : [{ object: `Node ${facts.nodeName}`, message }],
    );
  }

  /** Networks whose own MTU is too large: their owners chose it, and the node serves everybody else. */
  notes(): readonly ZoneProblem[] {
    const { facts } = this.#options;
    return this.#ends().flatMap(({ device, address }) =>
      facts.networks
        .all()
        .filter(
          (network) =>
            isInTunnels(network) &&
            network.mtu > facts.settings.mtu &&
            device.mtu < inTunnel(network.mtu, address),
        )
        .map(({ object, name, mtu }) => ({
          object: object ?? `Network ${name}`,
          message: `mtu ${mtu}: its largest packets need ${inTunnel(mtu, address)} at ${device.name} of node ${facts.nodeName}, where tunnels end, which has an MTU of ${device.mtu}, and are lost between nodes: raise that, or make the network with an mtu of at most ${device.mtu - inTunnel(0, address)}`,
        })),
    );
  }

  /** Devices where tunnels of this node end; none without other nodes. */
  #ends(): readonly { readonly device: UnderlayDevice; readonly address: string }[] {
    const { facts } = this.#options;
    const self = facts.self.peek(facts.nodeName);
    const isAlone = facts.remoteNodes.entries().next().done === true;
    if (self === undefined || isAlone) return [];
    this.#look();
    return self.encapIps.flatMap((encapIp) => {
      const address = plainAddress(encapIp) ?? encapIp;
      const device = this.#devices.find(({ addresses }) => addresses.includes(address));
      return device === undefined ? [] : [{ device, address }];
    });
  }

  #look(): void {
    const now = this.#now();
    if (now - this.#lookedAt < LOOK) return;
    this.#lookedAt = now;
    try {
      this.#devices = this.#options.devices();
      this.#failure = undefined;
    } catch (error) {
      // What was found last stands.
      this.#failure = errorText(error);
    }
  }
}
