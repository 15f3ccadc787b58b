import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

/**
 * Connects pgjdbc to a Unix-domain socket, because the servers of the tests do not listen on TCP. Its path is the
 * property socketFactoryArg.
 */
public class UnixSocket extends SocketFactory {
    private final String path;

    public UnixSocket(String path) {
        this.path = path;
    }

    @Override
    public Socket createSocket() throws IOException {
        var channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        channel.connect(UnixDomainSocketAddress.of(path));
        var in = Channels.newInputStream(channel);
        var out = Channels.newOutputStream(channel);
        return new Socket() {
            @Override
            public void connect(SocketAddress address, int timeout) {
                // The channel is connected already.
            }

            @Override
            public boolean isConnected() {
                return true;
            }

            @Override
            public InputStream getInputStream() {
                return in;
            }

            @Override
            public OutputStream getOutputStream() {
                return out;
            }

            @Override
            public void close() throws IOException {
                channel.close();
            }

            // A Unix-domain socket has none of these options.
            @Override
            public void setTcpNoDelay(boolean on) {}

            @Override
            public void setKeepAlive(boolean on) {}

            @Override
            public void setSoTimeout(int timeout) {}

            @Override
            public int getSoTimeout() {
                return 0;
            }
        };
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(String host, int port, java.net.InetAddress local, int localPort) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(java.net.InetAddress host, int port) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(java.net.InetAddress host, int port, java.net.InetAddress local, int localPort)
            throws IOException {
        return createSocket();
    }
}
