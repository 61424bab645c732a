import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubernetesClient, refusal } from '../../../src/store/kubernetes/kubernetes-client.ts';

describe('credentials', () => {
  let server: Server;
  let accepted = 'Bearer one';
  beforeEach(async () => {
    accepted = 'Bearer one';
    server = createServer((request, response) => {
      const isAccepted = request.headers.authorization === accepted;
      response.writeHead(isAccepted ? 200 : 401).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** A client, and how often its credentials were looked at, with `refused` or without. */
  function connect(credentials: (refused: boolean) => Promise<string>): {
    client: KubernetesClient;
    looks: boolean[];
  } {
    const looks: boolean[] = [];
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const client = new KubernetesClient(
      {
        server: `http://127.0.0.1:${port}`,
        namespace: undefined,
        source: 'test',
        credentials: async ({ refused }) => {
          looks.push(refused);
          return { authorization: await credentials(refused), tls: {} };
        },
      },
      'test',
    );
    return { client, looks };
  }
  const get = (client: KubernetesClient): Promise<unknown> =>
    client.send({ method: 'GET', path: '/', about: 'nothing' });

  test('are looked at once for requests that follow each other', async () => {
    const { client, looks } = connect(async () => 'Bearer one');
    for (let count = 0; count < 20; count += 1) await get(client);
    expect(looks.length).toBeLessThan(20);
    expect(looks[0]).toBe(false);
    client.close();
  });

  test('that the server refuses are looked at anew, and the request is sent again', async () => {
    let token = 'Bearer one';
    const { client, looks } = connect(async () => token);
    await get(client);
    token = 'Bearer two';
    accepted = 'Bearer two';
    await get(client);
    expect(looks.at(-1)).toBe(true);
    const before = looks.length;
    await get(client);
    expect(looks.slice(before)).not.toContain(true);
    client.close();
  });

  test('that could not be read are looked at by the next request', async () => {
    let isBroken = true;
    const { client, looks } = connect(async () => {
      if (isBroken) throw new Error('no such file');
      return 'Bearer one';
    });
    await expect(get(client)).rejects.toThrow('no such file');
    isBroken = false;
    await get(client);
    expect(looks).toEqual([false, false]);
    client.close();
  });
});

describe('a 404', () => {
  test.each([
    ['no details', undefined, 'not-installed', 'install the CRDs'],
    ['the object', { kind: 'pods', name: 'web' }, 'not-found', 'not found'],
    ['the namespace', { kind: 'namespaces', name: 'a' }, 'no-namespace', 'create it again'],
  ])('that names %s', (_, details, code, text) => {
    const said = JSON.stringify({ message: 'not found', reason: 'NotFound', details });
    expect(refusal('Pod a/web', 404, said)).toMatchObject({
      code,
      message: expect.stringContaining(text) as string,
    });
  });

  test('of a namespace that was asked for', () => {
    const details = { kind: 'namespaces', name: 'a' };
    expect(refusal('Namespace a', 404, JSON.stringify({ details })).code).toBe('not-found');
  });
});
