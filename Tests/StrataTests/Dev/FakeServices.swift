// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers

@testable import StrataCommand

/// Stand-ins for the services' executables. Each answers 200 on its admin port and exits on SIGTERM.
enum FakeServices {
    /// The program is in Perl, because every Debian has its base package.
    private static let script = #"""
        use strict; use IO::Socket::INET;
        $| = 1;
        $SIG{TERM} = sub { exit 0 };
        print "fake $ENV{STRATA_INSTANCE} here\n";
        my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ENV{STRATA_ADMIN_PORT}, Listen => 16, ReuseAddr => 1) or die "no port: $!";
        while (my $client = $server->accept) {
            while (my $line = <$client>) { last if $line =~ /^\r\n$/ }
            print $client "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            close $client;
        }
        """#

    /// Writes the executables into a directory.
    /// - Parameter broken: A service that exits at once instead.
    static func make(in directory: String, broken: ServiceKind? = nil) throws -> ServiceBinaries {
        let perl = try Programs.find("perl")
        for kind in ServiceKind.allCases {
            let path = "\(directory)/\(kind.rawValue)"
            let body =
                kind == broken ? "#!/bin/sh\necho 'cannot read the stars' >&2\nexit 3\n" : "#!\(perl)\n\(script)\n"
            try body.write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        return ServiceBinaries(directory: directory)
    }
}
