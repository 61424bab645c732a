import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OvsdbClient, type TlsOptions } from 'ovsdb-client-ts';
import { Authority, type Identity } from '../../support/run/certificates.ts';
import { OvsdbServer, runOvs, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';
import { freePort } from '../../support/run/free-port.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);

describe('TLS', () => {
  const folder = temporaryFolder();
  const foreign = temporaryFolder();
  let identities: { [name: string]: Identity } = {};
  let server: OvsdbServer;
  let remote = '';

  const sslServer = (
    identity: Identity,
    name: string,
    port: number,
    more: readonly string[] = [],
  ): Promise<OvsdbServer> =>
    OvsdbServer.start({
      folder: folder.path,
      name,
      remotes: [`pssl:${port}:127.0.0.1`],
      // The server's chain includes its CA, so that clients can learn it.
      args: [
        `--private-key=${identity.privateKey}`,
        `--certificate=${chain(identity)}`,
        `--ca-cert=${identity.caCertificate}`,
        ...more,
      ],
    });

  const chain = (identity: Identity): string => {
    const path = `${identity.certificate}.chain`;
    writeFileSync(
      path,
      readFileSync(identity.certificate, 'utf8') + readFileSync(identity.caCertificate, 'utf8'),
    );
    return path;
  };

  const client = (tls: TlsOptions, to = remote): OvsdbClient =>
    new OvsdbClient({
      remotes: to,
      database: 'OVN_Northbound',
      tls,
      timing: { minBackoff: 20, maxBackoff: 100 },
    }).start();

  beforeAll(async () => {
    const ours = new Authority(folder.path, 'ours');
    const theirs = new Authority(foreign.path, 'theirs');
    identities = {
      server: ours.issue('server'),
      client: ours.issue('client'),
      expired: ours.issue('expired', -1),
      localhost: ours.issue('localhost'),
      stranger: theirs.issue('stranger'),
    };
    const port = await freePort();
    server = await sslServer(identities['server'] as Identity, 'secure', port);
    remote = `ssl:127.0.0.1:${port}`;
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
    foreign[Symbol.dispose]();
  });

  test('both sides show certificates of one CA', async () => {
    await using good = client(identities['client'] as Identity);
    await good.ready(soon());
    expect(
      await good.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'tls' } }]),
    ).toMatchObject({ kind: 'success' });
  });

  test('a server of another CA is not believed', async () => {
    const { privateKey, certificate } = identities['client'] as Identity;
    const caCertificate = (identities['stranger'] as Identity).caCertificate;
    await using bad = client({ privateKey, certificate, caCertificate });
    await expect(bad.ready(AbortSignal.timeout(700))).rejects.toThrow(
      /self.signed certificate|unable to verify|unable to get/,
    );
  });

  test.each(['stranger', 'expired'])(
    'a client with a certificate that is %s is turned away',
    async (name) => {
      const { privateKey, certificate } = identities[name] as Identity;
      const caCertificate = (identities['server'] as Identity).caCertificate;
      await using bad = client({ privateKey, certificate, caCertificate });
      await expect(bad.ready(AbortSignal.timeout(700))).rejects.toThrow('gave up waiting');
      expect(bad.status).not.toBe('ready');
    },
  );

  test('a server with an expired certificate is not believed', async () => {
    const port = await freePort();
    await using old = await sslServer(identities['expired'] as Identity, 'old', port);
    await using bad = client(identities['client'] as Identity, `ssl:127.0.0.1:${port}`);
    expect(old.pid).toBeGreaterThan(0);
    await expect(bad.ready(AbortSignal.timeout(700))).rejects.toThrow('certificate has expired');
  });

  test('files that are renewed are used by the next connection', async () => {
    const own = (file: string): string => join(folder.path, file);
    const { caCertificate } = identities['client'] as Identity;
    const files = { privateKey: own('own.key'), certificate: own('own.pem'), caCertificate };
    const renew = (name: string): void => {
      const { privateKey, certificate } = identities[name] as Identity;
      copyFileSync(privateKey, files.privateKey);
      copyFileSync(certificate, files.certificate);
    };
    renew('expired');
    await using renewed = client(files);
    await expect(renewed.ready(AbortSignal.timeout(700))).rejects.toThrow('gave up waiting');
    renew('client');
    await renewed.ready(soon());
    renew('expired');
    expect((await renewed.transact([{ op: 'comment', comment: 'still there' }])).kind).toBe(
      'success',
    );
    renewed.reconnect();
    await expect(renewed.ready(AbortSignal.timeout(700))).rejects.toThrow('gave up waiting');
  });

  test('the certificate must name the host when that is asked for', async () => {
    const warnings: string[] = [];
    const warn = ({ message }: Error): number => warnings.push(message);
    process.on('warning', warn);
    const port = await freePort();
    await using _named = await sslServer(identities['localhost'] as Identity, 'named', port);
    const tls = { ...(identities['client'] as Identity), checkHostName: true };
    await using good = client(tls, `ssl:localhost:${port}`);
    await good.ready(soon());
    await using bad = client(tls, `ssl:127.0.0.1:${port}`);
    await expect(bad.ready(AbortSignal.timeout(700))).rejects.toThrow('127.0.0.1 is not in the');
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });

  test('a version of TLS below the one that is asked for is not used', async () => {
    const port = await freePort();
    const limits = ['--ssl-protocols=TLSv1.2'];
    await using _old = await sslServer(identities['server'] as Identity, 'older', port, limits);
    const tls = identities['client'] as Identity;
    await using good = client(tls, `ssl:127.0.0.1:${port}`);
    await good.ready(soon());
    await using bad = client({ ...tls, minVersion: 'TLSv1.3' }, `ssl:127.0.0.1:${port}`);
    await expect(bad.ready(AbortSignal.timeout(700))).rejects.toThrow('protocol version');
  });

  test('no CA is learnt from a server that sends none', async () => {
    const { privateKey, certificate } = identities['client'] as Identity;
    const leaf = { key: readFileSync(privateKey), cert: readFileSync(certificate) };
    await using silent = createServer(leaf).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const caCertificate = join(folder.path, 'not-learnt.pem');
    const tls = { privateKey, certificate, caCertificate, bootstrap: true };
    await using learner = client(tls, `ssl:127.0.0.1:${port}`);
    await expect(learner.ready(AbortSignal.timeout(700))).rejects.toThrow(
      'the server sends no self-signed CA certificate',
    );
    expect(existsSync(caCertificate)).toBe(false);
  });

  test('the CA is learnt once, and then insisted on', async () => {
    const { privateKey, certificate } = identities['client'] as Identity;
    const caCertificate = join(folder.path, 'learnt.pem');
    await using learner = client({ privateKey, certificate, caCertificate, bootstrap: true });
    await learner.ready(soon());
    expect(existsSync(caCertificate)).toBe(true);
    copyFileSync((identities['stranger'] as Identity).caCertificate, caCertificate);
    learner.reconnect();
    await expect(learner.ready(AbortSignal.timeout(700))).rejects.toThrow(
      /self.signed certificate|unable to verify|unable to get/,
    );
  });

  test('the server may be the one that connects, and must then show its certificate', async () => {
    const port = await freePort();
    const events: string[] = [];
    await using ours = new OvsdbClient({
      remotes: `pssl:${port}:127.0.0.1`,
      database: 'OVN_Northbound',
      tls: identities['client'] as Identity,
      timing: { minBackoff: 20, maxBackoff: 100 },
      onEvent: ({ kind }) => events.push(kind),
    }).start();
    const calling = (identity: Identity, name: string): Promise<OvsdbServer> =>
      OvsdbServer.start({
        folder: folder.path,
        name,
        remotes: [`ssl:127.0.0.1:${port}`],
        args: [
          `--private-key=${identity.privateKey}`,
          `--certificate=${identity.certificate}`,
          `--ca-cert=${(identities['client'] as Identity).caCertificate}`,
        ],
      });
    {
      await using _stranger = await calling(identities['stranger'] as Identity, 'stranger');
      await expect(ours.ready(AbortSignal.timeout(700))).rejects.toThrow('gave up waiting');
      expect(events).not.toContain('connected');
    }
    await using _caller = await calling(identities['server'] as Identity, 'caller');
    await ours.ready(soon());
  });

  test('files that can not be read are named', async () => {
    const { certificate, caCertificate } = identities['client'] as Identity;
    await using bad = client({ privateKey: '/does/not/exist', certificate, caCertificate });
    await expect(bad.ready(AbortSignal.timeout(300))).rejects.toThrow(
      "the private key /does/not/exist can't be read",
    );
  });

  test('files that do not belong together are named', async () => {
    const { certificate, caCertificate } = identities['client'] as Identity;
    const { privateKey } = identities['server'] as Identity;
    await using bad = client({ privateKey, certificate, caCertificate });
    await expect(bad.ready(AbortSignal.timeout(300))).rejects.toThrow(
      `the private key ${privateKey}, the certificate ${certificate} and the CA certificate ${caCertificate} can't be used together: `,
    );
  });
});

test('the server may be the one that connects', async () => {
  const port = await freePort();
  await using client = new OvsdbClient({
    remotes: `ptcp:${port}:127.0.0.1`,
    database: 'OVN_Northbound',
    timing: { minBackoff: 20, maxBackoff: 50 },
  }).start();
  await using server = await OvsdbServer.start({ remotes: [`tcp:127.0.0.1:${port}`] });
  await client.ready(soon());
  await runOvs('ovsdb-client', [
    'transact',
    server.remote,
    '["OVN_Northbound",{"op":"insert","table":"Logical_Switch","row":{"name":"seen"}}]',
  ]);
  await until('the row', () => client.replica.size('Logical_Switch') === 1);
  client.reconnect();
  await client.ready(soon());
});
