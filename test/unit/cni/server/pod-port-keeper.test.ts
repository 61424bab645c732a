import { expect, test } from 'vitest';
import { ContainerTurns } from '../../../../src/cni/server/container-turns.ts';
import { keepPodPorts } from '../../../../src/cni/server/pod-port-keeper.ts';
import type { PodPorts } from '../../../../src/cni/server/pod-ports.ts';
import type { PodLink } from '../../../../src/cni/links/pod-links.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { nad, pod } from '../../../support/zone/pods.ts';

const web = pod('blue/web', 'n1', [
  {
    nadKey: 'default',
    address: '10.244.1.5/24',
    role: 'primary',
    gateway: '10.244.1.1',
  },
]);

/** A keeper whose pod lacks its port, and who has just asked the kernel for links; `answer` brings them. */
async function listing() {
  const asked = Promise.withResolvers<void>();
  const links = Promise.withResolvers<readonly PodLink[]>();
  const added: string[] = [];
  const ports = {
    onLost: () => () => undefined,
    unavailable: () => undefined,
    hasBridge: true,
    get: () => undefined,
    list: () => [],
    add: () => {
      added.push('port');
      return Promise.resolve();
    },
  } as unknown as PodPorts;
  const view = <T>(objects: readonly T[]) =>
    ({
      get: () => undefined,
      list: () => objects,
      onChange: () => () => undefined,
    }) as never;
  const options = {
    node: 'n1',
    pods: view([web]),
    nads: view([nad('blue/l3-net', 'blue_l3-net')]),
    ports,
    links: {
      list: () => {
        asked.resolve();
        return links.promise;
      },
    },
    turns: new ContainerTurns(),
    linkFactsOf: () => ({ mtu: 1400, isOnUnderlay: false }),
    log: createLogger('silent'),
  };
  const keeper = keepPodPorts(options, { ready: () => Promise.resolve() });
  await asked.promise;
  return { keeper, links, added };
}

test('who ends it waits for what is under way, and nothing is written after that', async () => {
  const { keeper, links, added } = await listing();
  const ended = keeper[Symbol.asyncDispose]();
  const container = '0123456789ab'.repeat(5);
  const name = 'h0';
  links.resolve([{ name, container, device: 'eth0', uid: web.metadata.uid }] as never);
  await ended;
  expect(added).toEqual([]);
});
