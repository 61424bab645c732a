/** What services say, while they change: they are read anew when one of them does, and whoever read a value that is another one is judged again. */
import { isDeepStrictEqual } from 'node:util';
import type { Intent } from '../intent/intent.ts';
import { servicesOf, type VerifiedServices } from '../intent/services.ts';
import type { Objects } from '../snapshot.ts';
import { NotedMap } from './noted-map.ts';
import type { Readers } from './readers.ts';

/** Two parts of a key; names and addresses have no blank. */
const pair = (key: string): readonly [string, string] => {
  const [a = '', b = ''] = key.split(' ');
  return [a, b];
};

const READ: Readonly<Record<string, (services: VerifiedServices, key: string) => unknown>> = {
  service: ({ byKey }, key) => byKey.get(key),
  'cluster address': ({ byClusterAddress }, key) => byClusterAddress.get(key),
  'pool address': (services, key) => services.byPoolAddress(...pair(key)),
  endpoints: (services, key) => services.endpoints(...pair(key)),
  'endpoint ports': (services, key) => services.endpointPorts(...pair(key)),
  'host ports': ({ hostPorts }, key) => hostPorts.get(key),
  'all services': (services) => services,
};

export class KeptServices {
  readonly #readers: Readers;
  #now: VerifiedServices | undefined;
  /** As checks read it. */
  readonly services: VerifiedServices;

  constructor(readers: Readers) {
    this.#readers = readers;
    const now = (): VerifiedServices => {
      if (this.#now === undefined) throw new Error('no services have been read');
      return this.#now;
    };
    const all = 'all services';
    this.services = {
      byKey: new NotedMap(readers, 'service', all, () => now().byKey),
      byClusterAddress: new NotedMap(readers, 'cluster address', all, () => now().byClusterAddress),
      byPoolAddress: (network, address) => {
        readers.note('pool address', `${network} ${address}`);
        return now().byPoolAddress(network, address);
      },
      endpoints: (network, service) => {
        readers.note('endpoints', `${network} ${service}`);
        return now().endpoints(network, service);
      },
      endpointPorts: (network, service) => {
        readers.note('endpoint ports', `${network} ${service}`);
        return now().endpointPorts(network, service);
      },
      usersOf: (address, port) => {
        readers.note(all, '');
        return now().usersOf(address, port);
      },
      hostPorts: new NotedMap(readers, 'host ports', all, () => now().hostPorts),
    };
  }

  read(objects: Objects, intent: Intent): void {
    const before = this.#now;
    const now = servicesOf(objects, intent);
    this.#now = now;
    if (before === undefined) return;
    for (const [kind, read] of Object.entries(READ))
      for (const key of this.#readers.keysOf(kind))
        if (!isDeepStrictEqual(read(before, key), read(now, key))) this.#readers.changed(kind, key);
  }
}
